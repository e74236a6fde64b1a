import { EFFECT, ENDED } from './entry-effect.ts';

/** Calls that wait for people, and run afterwards. */
export const answeredCalls = `
alter table holdfast.ledger add column prepared jsonb;

-- As commit_step_1, with what retries of its calls need of \`temp:\` state, what callbacks did when calls were planned, and
-- requests.
create function holdfast.commit_step_2(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, agent text,
  event_ids uuid[], kinds text[], authors text[], branches text[], bodies json, deltas jsonb,
  call_keys text[], call_ids text[], call_tools text[],
  row_keys text[], row_indexes int[], row_call_ids text[], row_tools text[], row_args json, row_responses json,
  usage json, model_calls bigint, prompt_tokens bigint, output_tokens bigint, total_tokens bigint,
  cost double precision, outcome_head text, ending_status text, ending_head text, scratch jsonb, row_actions json,
  requests json
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  answer json;
begin
  answer := holdfast.commit_step_1(session, invocation, run, at_step, fence_started_at, fence_invocation, agent, event_ids,
    kinds, authors, branches, bodies, deltas, call_keys, call_ids, call_tools, row_keys, row_indexes, row_call_ids, row_tools,
    row_args, row_responses, usage, model_calls, prompt_tokens, output_tokens, total_tokens, cost, outcome_head,
    ending_status, ending_head);
  if answer ->> 'kind' <> 'committed' then
    return answer;
  end if;
  if scratch is not null then
    update holdfast.ledger l set once = coalesce(l.once, '{}') || jsonb_build_object('temp', scratch)
      where l.session_id = session and l.key = run || '.' || at_step;
  end if;
  if row_actions is not null then
    update holdfast.ledger l set prepared = u.actions::jsonb,
        actions = case l.status when 'settled' then u.actions::jsonb end
      from rows from (unnest(row_keys), json_array_elements(row_actions)) u (key, actions)
      where l.session_id = session and l.key = u.key and json_typeof(u.actions) <> 'null';
  end if;
  if requests is not null then
    perform holdfast.add_requests_1(session, invocation, run, requests);
  end if;
  return answer;
end $$;

-- A call whose request was answered: what happened to the request is recorded, then an attempt begins, all or nothing. It stands
-- between a decision and the tool: nearly always there is one entry, and then the request is read and written once.
create function holdfast.begin_answered_1(session text, of_key text, run text, at_step int, at_index int, call_id text,
  tool text, args_digest text, token uuid, want_args boolean, sees_siblings boolean, request_id text, entries json)
returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s record;
  r record;
  q record;
  l holdfast.ledger;
  a holdfast.approvals;
  e json := entries -> 0;
  f jsonb := e::jsonb;
  ends boolean := f ->> 'kind' in ${ENDED};
  response json;
  said text;
  is_new boolean := false;
begin
  select t.app, t.user_id, t.name, t.app_key, t.user_key, t.state into s
    from holdfast.sessions t where t.id = session for update;
  if json_array_length(entries) <> 1 or f ->> 'requestId' <> request_id then
    perform holdfast.record_entries_1(session, entries);
    select u.value ->> 'kind' into said from json_array_elements(entries) with ordinality u (value, n)
      where u.value ->> 'requestId' = request_id and u.value ->> 'kind' in ${ENDED}
      order by u.n desc limit 1;
    e := null;
  elsif ends then
    said := f ->> 'kind';
  end if;
  -- What is locked is read by statements of their own: the one that has waited for the lock has an older view.
  select t.status, t.begun_after, t.sensitive, case when f ? 'args' then t.args end as args into q
    from holdfast.approvals t where t.request_id = request_id and t.session_id = session;
  if e is not null and q.status is null then
    perform holdfast.record_entries_1(session, entries);
  elsif e is not null then
    response := holdfast.response_of_1(session, e, f);
    is_new := holdfast.audit_entry_1(session, e, f, response, q.args, q.sensitive) and q.status = 'pending';
  end if;
  select t.invocation_id, o.temp, o.message_seq,
      exists (select from holdfast.ledger p where p.session_id = session and p.key = run || '.' || at_step) as has_step,
      -- By the call alone: the index of the session would do, too, and read all of its requests.
      exists (select from (select * from holdfast.approvals t where t.call_key = of_key offset 0) c
        where c.session_id = session and c.request_id <> request_id) as has_others
    into r
    from holdfast.runs t join holdfast.runs o on o.session_id = session and o.run_key = t.invocation_id
    where t.session_id = session and t.run_key = run;
  if q.status is null or r.has_step is not true or is_new and said is null
      or not is_new and (q.status in ('pending', 'cancelled') or q.status <> said) or is_new and said = 'cancelled' then
    if is_new then
      update holdfast.approvals t set ${EFFECT}
        where t.request_id = request_id and t.session_id = session;
    end if;
    select * into l from holdfast.ledger t where t.session_id = session and t.key = of_key;
    if l.status = 'settled' then
      return json_build_object('call',
        json_build_object('settled', true, 'response', l.response, 'failed', l.failed, 'actions', l.actions));
    elsif q.status is null or r.has_step is not true then
      raise exception using errcode = 'HF002', message = format('run %s of request %s is not in the store', run, request_id);
    end if;
    select * into a from holdfast.approvals t where t.request_id = request_id and t.session_id = session;
    return json_build_object('names', json_build_array(s.app, s.user_id, s.name), 'closed', a);
  end if;

  insert into holdfast.ledger as t (session_id, key, kind, run_key, step, idx, call_id, tool, status, args_digest, attempts,
      begun_by, started_at)
    values (session, of_key, 'call', run, at_step, at_index, call_id, tool, 'started', args_digest, 1, token,
      clock_timestamp())
    on conflict on constraint ledger_pkey do update set
      status = case t.status when 'settled' then t.status else 'started' end,
      attempts = t.attempts + (t.status <> 'settled' and t.begun_by is distinct from excluded.begun_by)::int,
      begun_by = case t.status when 'settled' then t.begun_by else excluded.begun_by end,
      args_digest = case t.status when 'settled' then t.args_digest else excluded.args_digest end,
      started_at = case t.status when 'settled' then t.started_at else excluded.started_at end
    returning * into l;
  if is_new then
    update holdfast.approvals t set ${EFFECT},
        begun_after = case when l.status <> 'settled' then coalesce(t.begun_after, l.attempts - 1) end
      where t.request_id = request_id and t.session_id = session returning * into a;
  elsif q.begun_after is null and l.status <> 'settled' then
    update holdfast.approvals t set begun_after = l.attempts - 1
      where t.request_id = request_id and t.session_id = session returning * into a;
  else
    select * into a from holdfast.approvals t where t.request_id = request_id and t.session_id = session;
  end if;
  -- Before, or meanwhile by an attempt whose worker was taken for dead.
  if l.status = 'settled' then
    return json_build_object('call',
      json_build_object('settled', true, 'response', l.response, 'failed', l.failed, 'actions', l.actions));
  end if;
  return json_build_object(
    'call', json_build_object('attempts', l.attempts, 'failures', l.failures,
      -- What began before the answer has ended with the question, or was asked about.
      'unknown', not coalesce(l.ended_attempts, '{}') @> int4range(a.begun_after + 1, l.attempts),
      'once', l.once, 'args', case when want_args then l.args end,
      'error', case when l.failures > 0 then l.last_error end, 'prepared', l.prepared),
    'context', json_build_object('names', json_build_array(s.app, s.user_id, s.name), 'invocationId', r.invocation_id,
      'content', (select m.body -> 'content' from holdfast.events m where m.session_id = session and m.seq = r.message_seq),
      'state', json_build_array(s.state,
        array(select json_build_array('app:' || t.key, t.value) from holdfast.app_state t where t.app_key = s.app_key),
        array(select json_build_array('user:' || t.key, t.value) from holdfast.user_state t where t.user_key = s.user_key),
        r.temp)),
    'siblings', case when sees_siblings then holdfast.settled_delta_1(session, run || '.' || at_step) end,
    'requests', case when not r.has_others then json_build_array(a) else (
      select json_agg(t order by length(t.request_id), t.request_id)
      from (select * from holdfast.approvals c where c.call_key = of_key offset 0) t where t.session_id = session) end);
end $$;

-- Ends an attempt with a request. Null where the attempt doesn't count any more; without an event where that was done before.
create function holdfast.suspend_call_1(session text, run text, at_step int, of_key text, attempt int, request json,
  event_id uuid, author text, branch text, body json, delta jsonb) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r record;
  l record;

begin
  select * into s from holdfast.sessions t where t.id = session for update;
  select t.status, t.step, t.invocation_id into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  select t.status, t.attempts, t.ended_attempts into l
    from holdfast.ledger t where t.session_id = session and t.key = of_key for update;
  if s.id is null or r.status is null or l.status is null then
    raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', of_key);
  end if;
  -- A chain that takes over reads its steps again from the first one: the run's own may be older than the call's.
  if r.status <> 'running' or r.step > at_step or l.status = 'settled' or l.attempts <> attempt then
    return null;
  end if;
  if not coalesce(l.ended_attempts, '{}') @> attempt then
    update holdfast.ledger t set ended = t.ended + 1,
        ended_attempts = coalesce(t.ended_attempts, '{}') + int4multirange(int4range(attempt, attempt, '[]'))
      where t.session_id = session and t.key = of_key;
  end if;
  if exists (select from holdfast.approvals t
      where t.request_id = request ->> 'requestId' and t.session_id = session) then
    return json_build_object('seq', s.last_seq, 'appended', false);
  end if;
  perform holdfast.add_requests_1(session, r.invocation_id, run, json_build_array(request));
  s.last_seq := s.last_seq + 1;
  insert into holdfast.events
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
    values (session, s.last_seq, event_id, r.invocation_id, run, at_step, 'request', author, branch, body,
      'request:' || (request ->> 'requestId'));
  if delta is not null then
    s.state := s.state || holdfast.apply_delta_1(s, r.invocation_id, delta);
  end if;
  perform holdfast.save_session_1(s);
  return json_build_object('seq', s.last_seq, 'appended', true);
end $$;
`;
