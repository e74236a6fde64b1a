-- Requests for the calls of a retry, made as those of the calls that it stands for.
create or replace function holdfast.ask_again(session text, run text, requests json) returns void language plpgsql as $$
begin
  perform holdfast.add_requests(session, run, run, (
    select json_agg(json_build_object('requestId', u.now, 'callKey', regexp_replace(u.now, '^rq-(.*)\.[0-9]+$', '\1'),
      'callId', a.call_id, 'kind', a.kind, 'tool', a.tool, 'agent', a.agent, 'path', a.path, 'workflowId', a.workflow_id,
      'rootWorkflowId', a.root_workflow_id, 'hint', a.hint, 'payload', a.payload, 'args', a.args,
      'argsDigest', a.args_digest, 'gateDigest', a.gate_digest, 'sensitive', a.sensitive, 'terms', a.terms,
      'responseSchema', a.response_schema, 'authConfig', a.auth_config) order by u.n)
    from rows from (json_to_recordset(requests) as (before text, now text)) with ordinality u (before, now, n)
    cross join lateral (
      select * from holdfast.approvals t where t.request_id = u.before and t.session_id = session offset 0
    ) a));
end $$;
