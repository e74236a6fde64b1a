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

-- In their order.
create or replace function holdfast.record_entries(session text, entries json) returns void language plpgsql as $$
begin
  perform holdfast.lock_session(session);
  for n in 0 .. json_array_length(entries) - 1 loop
    perform holdfast.record_entry(session, entries -> n);
  end loop;
end $$;

-- Each event of a request is audited once. It changes the request as long as that is pending.
create or replace function holdfast.record_entry(session text, entry json) returns void language plpgsql as $$
#variable_conflict use_variable
declare
  of_request text := entry ->> 'requestId';
  kind text := entry ->> 'kind';
  at bigint := (entry ->> 'at')::bigint;
  ends boolean := holdfast.ends_request(kind);
  q record;
  response json;
begin
  select t.status, t.sensitive, case when (entry -> 'args') is not null then t.args end as args into q
    from holdfast.approvals t where t.request_id = of_request and t.session_id = session;
  if not found then
    raise exception using errcode = 'HF002', message = format('request %s is not in the store', of_request);
  end if;
  response := holdfast.entry_response(session, entry);
  if not holdfast.audit_entry(session, entry, response, q.args, q.sensitive) or q.status <> 'pending' then
    return;
  end if;
  update holdfast.approvals t set
      votes = holdfast.votes_with(t.votes, t.history, entry), history = holdfast.history_with(t.history, entry),
      escalated_at = case when kind = 'escalated' then coalesce(t.escalated_at, at) else t.escalated_at end,
      -- Where the time to decide is over, those who are asked next have as much again.
      until = case when kind = 'escalated' and t.terms ->> 'onExpiry' = 'escalate' and (t.escalated_at is not null
          or (t.terms ->> 'escalateAfter')::float8 < (t.terms ->> 'expiresIn')::float8 is not true)
        then at + (t.terms ->> 'expiresIn')::float8::bigint else t.until end,
      status = case when ends then kind else t.status end,
      decided_at = case when ends then at end,
      reason = case when ends then entry ->> 'reason' end,
      answer_payload = case when ends then entry -> 'payload' end,
      edited_args = case when ends then entry -> 'args' end,
      response = case when ends then response end,
      response_ref = case when ends then entry ->> 'responseRef' end,
      credential_ref = case when ends then entry ->> 'credentialRef' end
    where t.request_id = of_request and t.session_id = session;
end $$;

-- Keeps a signature, and records what it came to. One that was refused may count when it comes again; any other stays as it is.
create or replace function holdfast.record_signed(session text, signed json, entry json) returns void language plpgsql as $$
declare
  of_request text := signed ->> 'requestId';
begin
  perform holdfast.lock_session(session);
  insert into holdfast.signatures as t (session_id, request_id, digest, n, at, came_at, says, principal, jws, key,
      signed_response, meant_response)
    select session, of_request, signed ->> 'digest', 1 + coalesce((
        select max(o.n) from holdfast.signatures o where o.session_id = session and o.request_id = of_request), 0),
      holdfast.now_ms(), (signed ->> 'cameAt')::bigint, signed ->> 'says', signed ->> 'principal', signed ->> 'jws',
      signed -> 'key', signed ->> 'signedResponse', signed ->> 'meantResponse'
    on conflict on constraint signatures_pkey do update set n = excluded.n, at = excluded.at, came_at = excluded.came_at,
        says = excluded.says, signed_response = excluded.signed_response, meant_response = excluded.meant_response
      where t.says = 'refused' and excluded.says <> 'refused';
  if entry is not null then
    perform holdfast.record_entry(session, entry);
  end if;
end $$;

-- As if the request had waited for its time: for tests.
create or replace function holdfast.hasten_request(session text, of_request text) returns void language sql as $$
  update holdfast.approvals t set since = t.since - coalesce((t.terms ->> 'expiresIn')::float8::bigint, 0)
    where t.request_id = of_request and t.session_id = session and t.status = 'pending'
$$;

-- Of a run, and of all children's where it is an invocation; only those of the given calls, where there are any given.
create or replace function holdfast.cancel_requests(session text, invocation text, run text, keys text[]) returns void
language plpgsql as $$
declare
  of_request text;
begin
  for of_request in
    select q.request_id from holdfast.approvals q
    where q.session_id = session and q.status = 'pending'
      and (q.run_key = run or run = invocation and q.invocation_id = invocation)
      and (keys is null or q.call_key = any (keys))
    order by q.request_id
  loop
    perform holdfast.record_entry(session, json_build_object('entryId', of_request || '/cancelled',
      'requestId', of_request, 'kind', 'cancelled', 'at', holdfast.now_ms()));
  end loop;
end $$;

-- Whether an entry of this kind is a request's last.
create or replace function holdfast.ends_request(kind text) returns boolean language sql immutable as $$
  select kind in ('approved', 'rejected', 'answered', 'expired', 'cancelled')
$$;

-- By the call alone: the index of the session would do, too, and read all of its requests.
create or replace function holdfast.requests_of_call(session text, of_key text) returns setof holdfast.approvals
language sql stable as $$
  select * from (select * from holdfast.approvals t where t.call_key = of_key offset 0) q where q.session_id = session
$$;

-- A call whose request was answered: what has happened to the request is recorded and an attempt begins, all or nothing.
--
-- Where that needs evidence, whoever begins the call has to have verified it: `proven` is the stamp of what was looked at. Else
-- nothing is written, and the evidence is the answer.
create or replace function holdfast.begin_answered(args json) returns json language plpgsql as $$
declare
  a record;
  s record;
  r record;
  q record;
  l holdfast.ledger;
  said text;
begin
  select * into a from json_to_record(args) as t(session text, call_key text, run_key text, step int, index int, call_id text,
    tool text, args_digest text, token uuid, want_args boolean, sees_siblings boolean, request_id text, entries json,
    closes boolean, proven text, scheduled_at bigint);
  select t.app, t.user_id, t.name, t.app_key, t.user_key, t.state into s
    from holdfast.sessions t where t.id = a.session for update;
  -- Locked rows are read by statements of their own: the one that has waited for the lock has an older view.
  select * into l from holdfast.ledger t where t.session_id = a.session and t.key = a.call_key;
  -- A worker that stood still begins an attempt after a later one has begun.
  if l.status = 'started' and l.begun_for > a.scheduled_at then
    return json_build_object('call', json_build_object('late', true));
  end if;
  -- One that is sent again, since its answer was lost, has been proven.
  if l.begun_by is distinct from a.token and holdfast.needs_evidence(a.session, a.call_key, a.entries, a.closes)
      and a.proven is distinct from holdfast.evidence_stamp(a.session, a.call_key) then
    if l.status = 'settled' then
      return json_build_object('call', holdfast.settled_call(l.response, l.failed, l.actions));
    end if;
    return json_build_object('evidence', holdfast.evidence(a.session, a.call_key));
  end if;

  perform holdfast.record_entries(a.session, a.entries);
  select e.value ->> 'kind' into said from json_array_elements(a.entries) with ordinality e (value, n)
    where e.value ->> 'requestId' = a.request_id and holdfast.ends_request(e.value ->> 'kind')
    order by e.n desc limit 1;
  select t.status, t.begun_after into q
    from holdfast.approvals t where t.request_id = a.request_id and t.session_id = a.session;
  select t.invocation_id, o.temp, o.message_seq into r
    from holdfast.runs t join holdfast.runs o on o.session_id = a.session and o.run_key = t.invocation_id
    where t.session_id = a.session and t.run_key = a.run_key and exists (
      select from holdfast.ledger p where p.session_id = a.session and p.key = a.run_key || '.' || a.step);
  if r.invocation_id is null or (q.status not in ('pending', 'cancelled') and q.status = coalesce(said, q.status)) is not true
  then
    if l.status = 'settled' then
      return json_build_object('call', holdfast.settled_call(l.response, l.failed, l.actions));
    elsif q.status is null or r.invocation_id is null then
      raise exception using errcode = 'HF002',
        message = format('run %s of request %s is not in the store', a.run_key, a.request_id);
    end if;
    return json_build_object('names', json_build_array(s.app, s.user_id, s.name), 'closed', (
      select to_json(t) from holdfast.approvals t where t.request_id = a.request_id and t.session_id = a.session));
  end if;

  insert into holdfast.ledger as t (session_id, key, kind, run_key, step, idx, call_id, tool, status, args_digest, attempts,
      begun_by, begun_for, started_at)
    values (a.session, a.call_key, 'call', a.run_key, a.step, a.index, a.call_id, a.tool, 'started', a.args_digest, 1,
      a.token, a.scheduled_at, clock_timestamp())
    on conflict on constraint ledger_pkey do update set status = 'started',
      attempts = t.attempts + (t.begun_by is distinct from excluded.begun_by)::int, begun_by = excluded.begun_by,
      begun_for = coalesce(excluded.begun_for, t.begun_for), args_digest = excluded.args_digest,
      started_at = excluded.started_at
      where t.status <> 'settled'
    returning * into l;
  if not found then
    -- Before, or meanwhile by an attempt whose worker was taken for dead.
    select * into l from holdfast.ledger t where t.session_id = a.session and t.key = a.call_key;
    return json_build_object('call', holdfast.settled_call(l.response, l.failed, l.actions));
  end if;
  if q.begun_after is null then
    update holdfast.approvals t set begun_after = l.attempts - 1
      where t.request_id = a.request_id and t.session_id = a.session returning t.begun_after into q.begun_after;
  end if;
  return json_build_object(
    'call', json_build_object('attempts', l.attempts, 'failures', l.failures,
      -- A run from before the answer has ended with the question, or was asked about.
      'unknown', not coalesce(l.ended_attempts, '{}') @> int4range(q.begun_after + 1, l.attempts),
      'once', l.once, 'args', case when a.want_args then l.args end,
      'error', case when l.failures > 0 then l.last_error end, 'prepared', l.prepared),
    'context', json_build_object('names', json_build_array(s.app, s.user_id, s.name), 'invocationId', r.invocation_id,
      'content', (
        select m.body -> 'content' from holdfast.events m where m.session_id = a.session and m.seq = r.message_seq),
      'state', holdfast.state_parts(s.state, s.app_key, s.user_key, r.temp),
      'remembered', holdfast.remembered(a.session, a.run_key)),
    'siblings', case when a.sees_siblings then holdfast.settled_delta(a.session, a.run_key || '.' || a.step) end,
    'requests', (
      select json_agg(t order by length(t.request_id), t.request_id)
      from holdfast.requests_of_call(a.session, a.call_key) t));
end $$;

-- Ends an attempt with a request, unless the attempt holds it open. Null where the attempt doesn't count any more; without an event
-- where that was done before.
create or replace function holdfast.suspend_call(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  invocation text;
begin
  select * into a from json_to_record(args) as t(session text, run_key text, step int, call_key text, attempt int, request json,
    event_id uuid, author text, branch text, body json, delta jsonb, holds boolean);
  select * into s from holdfast.sessions t where t.id = a.session for update;
  if a.holds then
    if not holdfast.attempt_counts(a.session, a.run_key, a.call_key, a.attempt) then
      return null;
    end if;
  elsif not holdfast.end_attempt(a.session, a.run_key, a.call_key, a.attempt) then
    return null;
  end if;
  if exists (select from holdfast.approvals t
      where t.request_id = a.request ->> 'requestId' and t.session_id = a.session) then
    return json_build_object('seq', s.last_seq, 'appended', false);
  end if;
  invocation := (select t.invocation_id from holdfast.runs t where t.session_id = a.session and t.run_key = a.run_key);
  perform holdfast.add_requests(a.session, invocation, a.run_key, json_build_array(a.request));
  s.last_seq := s.last_seq + 1;
  insert into holdfast.events
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
    values (a.session, s.last_seq, a.event_id, invocation, a.run_key, a.step, 'request', a.author, a.branch, a.body,
      'request:' || (a.request ->> 'requestId'));
  if a.delta is not null then
    s.state := s.state || holdfast.apply_delta(s, invocation, a.delta);
  end if;
  perform holdfast.save_session(s);
  return json_build_object('seq', s.last_seq, 'appended', true);
end $$;

-- The answer of an entry to a question: itself, or by a reference to what is kept.
create or replace function holdfast.entry_response(session text, entry json) returns json language plpgsql stable as $$
#variable_conflict use_variable
declare
  reference text := entry ->> 'responseRef';
  kept json;
begin
  if reference is null then
    return entry -> 'response';
  end if;
  select r.response into kept from holdfast.responses r where r.ref = reference and r.session_id = session;
  if not found then
    raise exception using errcode = 'HF002', message = format('the answer %s is not in the store', reference);
  end if;
  return kept;
end $$;

-- The requests of a call, in order, with their signatures. `now` is the store's time.
create or replace function holdfast.evidence(session text, of_key text) returns json language sql stable as $$
  select json_build_object(
    'names', (select json_build_array(s.app, s.user_id, s.name) from holdfast.sessions s where s.id = session),
    'requests', coalesce((
      select json_agg(q order by length(q.request_id), q.request_id) from holdfast.requests_of_call(session, of_key) q
    ), '[]'),
    'signatures', coalesce((
      select json_agg(g order by g.request_id, g.n) from holdfast.signatures g
      where g.session_id = session
        and g.request_id in (select q.request_id from holdfast.requests_of_call(session, of_key) q)
    ), '[]'),
    'now', holdfast.now_ms(),
    'stamp', holdfast.evidence_stamp(session, of_key))
$$;

-- Equal as long as nothing has changed of what the requests of a call, and their signatures, prove.
create or replace function holdfast.evidence_stamp(session text, of_key text) returns text language sql stable as $$
  select coalesce(string_agg(concat_ws('/', q.request_id, q.status, (
      select count(*) from holdfast.signatures g
      where g.session_id = session and g.request_id = q.request_id and g.says <> 'refused'
    )), ',' order by q.request_id), '')
  from holdfast.requests_of_call(session, of_key) q
$$;

-- Whether a call may begin only by what signatures prove: an entry names somebody who has signed, or the tool is to run by an
-- approval that counts only by signatures, or has changed the arguments.
create or replace function holdfast.needs_evidence(session text, of_key text, entries json, closes boolean) returns boolean
language sql stable as $$
  select exists (select from json_array_elements(entries) e where e.value #>> '{by,verified}' = 'true')
    or not closes and exists (
      select from holdfast.requests_of_call(session, of_key) q
      where q.kind = 'confirmation' and (
        q.status = 'approved' and (q.edited_args is not null or holdfast.needs_signatures(q.terms))
        or exists (
          select from json_array_elements(entries) e
          where e.value ->> 'requestId' = q.request_id and e.value ->> 'kind' = 'approved'
            and ((e.value -> 'args') is not null or holdfast.needs_signatures(q.terms)))))
$$;

-- As in src/approvals/voting.ts.
create or replace function holdfast.needs_signatures(terms json) returns boolean language sql immutable as $$
  select (terms -> 'approvers') is not null or coalesce((terms ->> 'quorum')::float8, 1) > 1
    or coalesce(terms ->> 'notRequester', '') = 'true'
$$;

-- When somebody last worked on a run, as far as the store knows.
create or replace function holdfast.last_sign(r holdfast.runs, newest holdfast.ledger) returns timestamptz
language plpgsql stable as $$
declare
  sign timestamptz := greatest(r.created_at, newest.started_at, newest.settled_at);
  of_call timestamptz;
begin
  for n in 1 .. coalesce(cardinality(newest.call_keys), 0) loop
    select greatest(l.started_at, l.settled_at) into of_call
      from holdfast.ledger l where l.session_id = r.session_id and l.key = newest.call_keys[n];
    sign := greatest(sign, of_call);
  end loop;
  return sign;
end $$;

-- A voter has one vote, and who decides has voted; whoever takes it back can vote again.
create or replace function holdfast.votes_with(votes json, history json, entry json) returns json language plpgsql stable as $$
declare
  voter text := entry #>> '{by,principal}';
  verified text := entry #>> '{by,verified}';
  kind text := entry ->> 'kind';
  others json := votes;
begin
  if voter is null or kind not in ('voted', 'withdrawn', 'approved', 'rejected', 'answered') then
    return votes;
  end if;
  if votes::text <> '[]' then
    others := (
      select coalesce(json_agg(v.value order by v.n), '[]') from json_array_elements(votes) with ordinality v (value, n)
      where (v.value #>> '{by,principal}', v.value #>> '{by,verified}') is distinct from (voter, verified)
    );
  end if;
  if kind = 'withdrawn' then
    return others;
  elsif json_array_length(others) < json_array_length(votes) then
    return votes;
  elsif kind = 'voted' and history::text <> '[]' and exists (
      select from json_array_elements(history) h
      where h.value #>> '{by,attestation}' = entry #>> '{by,attestation}' and h.value ->> 'kind' <> 'refused') then
    return votes;
  end if;
  return holdfast.list_with(votes, '{' || concat_ws(',', '"by":' || (entry -> 'by'),
    '"confirmed":' || coalesce((entry -> 'confirmed')::text, (kind <> 'rejected')::text), '"at":' || (entry -> 'at'),
    '"of":' || (entry -> 'of')) || '}');
end $$;

-- Arguments as people are shown them: `sensitive` is a list of names, or true for all.
create or replace function holdfast.shown_args(args json, sensitive json) returns json language plpgsql immutable as $$
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
