-- Writes requests that aren't there yet.
create or replace function holdfast.add_requests(session text, invocation text, run text, requests json) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms();
  asked_by text := (select r.requester from holdfast.runs r where r.session_id = session and r.run_key = invocation);
  q json;
begin
  for q in select u.value from json_array_elements(requests) with ordinality u (value, n) order by u.n loop
    insert into holdfast.approvals (session_id, request_id, app_key, user_key, run_key, invocation_id, call_key, call_id,
        kind, tool, agent, path, workflow_id, root_workflow_id, requester, hint, payload, args, args_digest, gate_digest,
        sensitive, terms, response_schema, auth_config, since, until)
      select session, q ->> 'requestId', s.app_key, s.user_key, run, invocation, q ->> 'callKey', q ->> 'callId',
        q ->> 'kind', q ->> 'tool', q ->> 'agent', q -> 'path', q ->> 'workflowId', q ->> 'rootWorkflowId', asked_by,
        q ->> 'hint', q -> 'payload', q -> 'args', q ->> 'argsDigest', q ->> 'gateDigest',
        q -> 'sensitive', q -> 'terms', q -> 'responseSchema', q -> 'authConfig', now,
        now + (q #>> '{terms,expiresIn}')::double precision::bigint
      from holdfast.sessions s where s.id = session
      on conflict on constraint approvals_pkey do nothing;
    if found then
      perform holdfast.append_audit(session, 'requested',
        concat_ws(',', '"agent":' || (q -> 'agent'), '"argsDigest":' || (q -> 'argsDigest'), '"asks":' || (q -> 'kind'),
          '"callKey":' || (q -> 'callKey')),
        concat_ws(',', '"gateDigest":' || (q -> 'gateDigest'), '"requestId":' || (q -> 'requestId'),
          '"requester":' || to_json(asked_by), '"tool":' || (q -> 'tool')),
        '{' || concat_ws(',', '"hint":' || (q -> 'hint'), '"payload":' || nullif((q -> 'payload')::text, 'null'),
          '"args":' || holdfast.shown_args(q -> 'args', q -> 'sensitive'), '"terms":' || (q -> 'terms')) || '}',
        null);
    end if;
  end loop;
end $$;
