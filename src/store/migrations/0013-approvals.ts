/** Requests to people, and the audit of what became of them. */
export const approvals = `
alter table holdfast.audit add column content json, add column salt text, add column entry text collate "C";
create unique index audit_entries on holdfast.audit (entry, session_id) where entry is not null;

-- Times in milliseconds since the epoch. \`begun_after\`: the attempts that its call had when it began with the answer.
create table holdfast.approvals (
  session_id text collate "C" not null,
  request_id text collate "C" not null,
  app_key text collate "C" not null,
  user_key text collate "C" not null,
  run_key text collate "C" not null,
  invocation_id text collate "C" not null,
  call_key text collate "C" not null,
  call_id text not null,
  kind text collate "C" not null,
  tool text not null,
  agent text not null,
  path json not null,
  workflow_id text not null,
  root_workflow_id text collate "C" not null,
  requester text,
  hint text not null,
  payload json,
  args json not null,
  args_digest text not null,
  gate_digest text not null,
  sensitive json not null,
  terms json not null,
  response_schema json,
  auth_config json,
  status text collate "C" not null default 'pending',
  since bigint not null,
  until bigint,
  escalated_at bigint,
  decided_at bigint,
  votes json not null default '[]',
  history json not null default '[]',
  reason text,
  edited_args json,
  answer_payload json,
  response json,
  response_ref text,
  credential_ref text,
  begun_after int,
  primary key (request_id, session_id)
);
create index approvals_of_call on holdfast.approvals (call_key);
create index approvals_of_session on holdfast.approvals (session_id, status, since, request_id);
create index approvals_of_user on holdfast.approvals (user_key, status, since, request_id);
create index approvals_of_app on holdfast.approvals (app_key, status, since, request_id);
create index approvals_of_root on holdfast.approvals (root_workflow_id, since, request_id);
create index approvals_pending on holdfast.approvals (since, request_id) where status = 'pending';
create index approvals_open on holdfast.approvals (session_id, run_key) where status = 'pending';

-- Answers that travel by reference: \`is_text\` until it is known what a text stands for.
create table holdfast.responses (
  session_id text collate "C" not null,
  ref text collate "C" not null,
  request_id text collate "C" not null,
  response json not null,
  is_text boolean not null,
  primary key (ref, session_id)
);
create index responses_of_session on holdfast.responses (session_id);

-- A row whose content can be dropped: only a digest of it is in the chain, salted, so that it can't be guessed from there. Facts are
-- JSON of members, in order of their names: those before \`contentDigest\`, and those behind it. False where the entry is there.
create function holdfast.audit_2(session text, kind text, head text, tail text, content text, of_entry text) returns boolean
language plpgsql as $$
#variable_conflict use_variable
declare
  now timestamptz := date_trunc('milliseconds', clock_timestamp());
  salt text := case when content is not null then replace(gen_random_uuid()::text, '-', '') end;
  facts text := '{' || concat_ws(',', nullif(head, ''), '"contentDigest":"' || encode(sha256(convert_to(salt || content, 'UTF8')), 'hex')
    || '"', nullif(tail, '')) || '}';
begin
  insert into holdfast.audit (session_id, n, at, kind, facts, hash, content, salt, entry)
    select session, before.n + 1, now, kind, facts::json, encode(sha256(convert_to(
        '[' || to_json(before.hash) || ',' || to_json(session) || ',' || before.n + 1
          || ',' || (extract(epoch from now) * 1000)::bigint || ',' || to_json(kind) || ',' || facts || ']', 'UTF8')), 'hex'),
      content::json, salt, of_entry
    from (
      (select a.n, a.hash from holdfast.audit a where a.session_id = session order by a.n desc limit 1)
      union all select 0, '' limit 1
    ) before
    on conflict (entry, session_id) where entry is not null do nothing;
  return found;
end $$;

-- Arguments as people are shown them: \`sensitive\` is a list of names, or true for all.
create function holdfast.shown_args_1(args json, sensitive json) returns json language plpgsql immutable as $$
declare
  withheld json := '"(sensitive)"';
begin
  if args is null or json_typeof(sensitive) = 'boolean' then
    return case when sensitive::text = 'true' and args is not null then withheld else args end;
  end if;
  return (
    select coalesce(json_object_agg(a.key, case when sensitive::jsonb ? a.key then withheld else a.value end), '{}')
    from json_each(args) a
  );
end $$;

create function holdfast.now_ms_1() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

-- Writes requests that aren't there yet.
create function holdfast.add_requests_1(session text, invocation text, run text, requests json) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  now bigint := holdfast.now_ms_1();
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
      perform holdfast.audit_2(session, 'requested',
        concat_ws(',', '"agent":' || (q -> 'agent'), '"argsDigest":' || (q -> 'argsDigest'), '"asks":' || (q -> 'kind'),
          '"callKey":' || (q -> 'callKey')),
        concat_ws(',', '"gateDigest":' || (q -> 'gateDigest'), '"requestId":' || (q -> 'requestId'),
          '"requester":' || to_json(asked_by), '"tool":' || (q -> 'tool')),
        '{' || concat_ws(',', '"hint":' || (q -> 'hint'), '"payload":' || nullif((q -> 'payload')::text, 'null'),
          '"args":' || holdfast.shown_args_1(q -> 'args', q -> 'sensitive'), '"terms":' || (q -> 'terms')) || '}',
        null);
    end if;
  end loop;
end $$;
`;
