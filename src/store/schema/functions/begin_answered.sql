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
  -- What is locked is read by statements of their own: the one that has waited for the lock has an older view.
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
      -- What began before the answer has ended with the question, or was asked about.
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
