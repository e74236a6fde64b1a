-- Ends a step: its events, the calls that it has planned with the rows of those that need one, what it has used, its outcome,
-- and that of its run where it is the last. `outcome` and `ending` lack what the invocation has used, which is known only
-- here.
create or replace function holdfast.commit_step(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  r holdfast.runs;
  step_row record;
  step_key text;
  appended int;
  unknown int;
  used text;
  ending text;
begin
  select * into a from json_to_record(args) as t(
    session text, invocation text, run_key text, step int, fence_started_at bigint, fence_invocation int, agent text,
    branch text, events json, deltas jsonb, call_keys text[], call_ids text[], call_tools text[], rows json, model_calls bigint,
    prompt_tokens bigint, output_tokens bigint, total_tokens bigint, cost double precision, outcome json, ending_status text,
    ending json, requests json, tool_edits json, ends boolean, artifacts json);
  step_key := a.run_key || '.' || a.step;
  select * into s from holdfast.sessions t where t.id = a.session for update;
  select * into r from holdfast.runs t where t.session_id = a.session and t.run_key = a.run_key;
  select l.status, l.outcome, l.seq, l.attempts, l.ended into step_row
    from holdfast.ledger l where l.session_id = a.session and l.key = step_key;
  if step_row.status is null or s.id is null or r.run_key is null then
    raise exception using errcode = 'HF002', message = format('step %s was opened and is not in the store', step_key);
  end if;
  if step_row.status = 'settled' then
    return json_build_object('kind', 'recorded', 'seq', step_row.seq, 'from', r.first_seq, 'outcome', step_row.outcome);
  end if;
  if r.status <> 'running'
      or (a.fence_started_at, a.fence_invocation) <> (s.fence_started_at, s.fence_invocation)
      or (a.fence_started_at, a.fence_invocation, a.step) <> (r.fence_started_at, r.fence_invocation, r.step) then
    raise exception using errcode = 'HF001', message = format('step %s comes too late: %s', step_key,
      case when r.status <> 'running' then 'its invocation has ended' else 'a newer one writes to this session' end);
  end if;

  insert into holdfast.events
    (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
    select a.session, s.last_seq + e.n, e.id, a.invocation, a.run_key, a.step, e.kind, e.author, e.branch, e.body,
      e.kind || ':' || step_key || case when e.nth = 1 then '' else '.' || e.nth end
    from (
      select t.*, row_number() over (partition by t.kind order by t.n) as nth
      from rows from (json_to_recordset(a.events) as (id uuid, kind text, author text, branch text, body json))
        with ordinality t (id, kind, author, branch, body, n)
    ) e;
  get diagnostics appended = row_count;
  s.last_seq := s.last_seq + appended;
  if a.run_key = a.invocation then
    s.last_agent := a.agent;
    if a.ending_status is not null then
      s.busy_ms := s.busy_ms + holdfast.ms_between(r.created_at, clock_timestamp());
      s.listed_at := clock_timestamp();
    end if;
  end if;
  -- Other attempts at this step that ended without a word: each may have asked the model.
  unknown := greatest(step_row.attempts - 1 - step_row.ended, 0);
  a.model_calls := a.model_calls + unknown;
  if a.deltas is not null then
    s.state := s.state || holdfast.apply_delta(s, a.invocation, holdfast.merged_delta(a.deltas));
  end if;
  update holdfast.sessions t set last_seq = s.last_seq, last_agent = s.last_agent, state = s.state,
      model_calls = t.model_calls + a.model_calls, prompt_tokens = t.prompt_tokens + a.prompt_tokens,
      output_tokens = t.output_tokens + a.output_tokens, total_tokens = t.total_tokens + a.total_tokens,
      cost = coalesce(t.cost + a.cost, t.cost, a.cost), unknown_calls = t.unknown_calls + unknown, busy_ms = s.busy_ms,
      updated_at = clock_timestamp(), listed_at = s.listed_at
    where t.id = a.session;
  r.model_calls := r.model_calls + a.model_calls;
  r.prompt_tokens := r.prompt_tokens + a.prompt_tokens;
  r.output_tokens := r.output_tokens + a.output_tokens;
  r.total_tokens := r.total_tokens + a.total_tokens;
  r.cost := coalesce(r.cost + a.cost, r.cost, a.cost);
  r.unknown_calls := r.unknown_calls + unknown;
  if a.run_key = a.invocation then
    used := holdfast.usage_of(r);
  else
    -- Budgets are the invocation's.
    used := holdfast.usage_of(holdfast.add_usage(a.session, a.invocation, a.model_calls, a.prompt_tokens, a.output_tokens,
      a.total_tokens, a.cost, unknown));
  end if;
  ending := left(a.ending::text, -1) || ',"usage":' || used || '}';

  if a.rows is not null then
    insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, args, response,
        failed, actions, prepared, settled_at)
      select a.session, u.key, 'call', a.run_key, a.step, u.idx, u.call_id, u.tool,
        case when u.response is null then 'planned' else 'settled' end, u.args, u.response, u.response -> 'error' is not null,
        case when u.response is not null then coalesce(u.actions, '{}') end, u.actions,
        case when u.response is not null then clock_timestamp() end
      from json_to_recordset(a.rows) as u(
        key text, idx int, call_id text, tool text, args json, response json, actions jsonb)
      order by u.key
      on conflict on constraint ledger_pkey do nothing;
  end if;
  update holdfast.ledger l set status = 'settled', agent = a.agent, branch = a.branch, call_keys = a.call_keys,
      call_ids = a.call_ids, call_tools = a.call_tools, seq = s.last_seq, settled_at = clock_timestamp(),
      outcome = (left(a.outcome::text, -1) || coalesce(',"outcome":' || ending, ',"usage":' || used) || '}')::json,
      tool_edits = a.tool_edits, ends = a.ends
    where l.session_id = a.session and l.key = step_key;
  update holdfast.runs t set agent = a.agent, last_seq = s.last_seq, status = coalesce(a.ending_status, t.status),
      outcome = case when a.ending_status is not null then ending::json end,
      temp = case when a.ending_status is null then t.temp else '{}' end,
      ended_at = case when a.ending_status is not null then clock_timestamp() end, model_calls = r.model_calls,
      prompt_tokens = r.prompt_tokens, output_tokens = r.output_tokens, total_tokens = r.total_tokens, cost = r.cost,
      unknown_calls = r.unknown_calls
    where t.session_id = a.session and t.run_key = a.run_key;
  if a.requests is not null then
    perform holdfast.add_requests(a.session, a.invocation, a.run_key, a.requests);
  end if;
  if a.artifacts is not null then
    perform holdfast.add_artifact_versions(a.session, step_key, s.last_seq, a.artifacts);
  end if;
  return json_build_object('kind', 'committed', 'seq', s.last_seq, 'from', r.first_seq, 'usage', used::json);
end $$;

-- Settles calls of a step that no attempt lived to settle, and ends the turn where there is an ending. The outcome
-- of a call's job is the call's, and jobs that still run end with their calls; their requests are cancelled. `ending` lacks
-- the invocation's usage, which is known only here.
create or replace function holdfast.settle_step(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  r holdfast.runs;
  taken record;
  newest holdfast.ledger;
  step_key text;
  before bigint;
  e record;
  nth int;
  settled json;
  ending json;
begin
  select * into a from json_to_record(args) as t(
    session text, invocation text, run_key text, step int, fence_started_at bigint, fence_invocation int, seq bigint,
    agent text, calls json, call_keys text[], ending_status text, ending json, cut_off text, responses json, events json,
    deltas jsonb);
  step_key := a.run_key || '.' || a.step;
  select * into s from holdfast.sessions t where t.id = a.session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  select * into r from holdfast.runs t where t.session_id = a.session and t.run_key = a.run_key;
  if r.status <> 'running' then
    return json_build_object('seq', r.last_seq, 'from', r.first_seq, 'outcome', r.outcome,
      'cutOff', holdfast.calls_cut_off(a.session, step_key));
  end if;
  before := s.last_seq;
  s := holdfast.pass_fences(s, r, a.invocation, a.run_key, a.step, a.fence_started_at, a.fence_invocation, a.seq);
  if r.run_key is null then
    -- It ends before it began: what was accepted for it belongs to the transcript all the same.
    taken := holdfast.take_message(a.session, a.invocation, s.last_seq + 1, gen_random_uuid(), true);
    insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, message_digest, asked,
        fence_started_at, fence_invocation, step, agent, message_seq, first_seq, last_seq)
      values (a.session, a.run_key, a.invocation, taken.message_id, taken.digest, taken.asked, a.fence_started_at,
        a.fence_invocation, a.step, a.agent, case when taken.delta is not null then s.last_seq + 1 end, s.last_seq + 1,
        s.last_seq)
      returning * into r;
    if taken.delta is not null then
      s.last_seq := s.last_seq + 1;
      s.state := s.state || holdfast.apply_delta(s, a.invocation, taken.delta);
    end if;
  else
    update holdfast.runs t
      set fence_started_at = a.fence_started_at, fence_invocation = a.fence_invocation, step = a.step
      where t.session_id = a.session and t.run_key = a.run_key;
  end if;

  if a.calls is not null then
    with written as (
      insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, response,
          failed, actions, parts, settled_at)
        select a.session, u.key, 'call', a.run_key, u.step, u.idx, u.call_id, u.tool, 'settled', coalesce(o.response, u.response),
          coalesce(o.failed, u.failed), u.actions, u.parts, clock_timestamp()
        from json_to_recordset(a.calls) as u(
          key text, step int, idx int, call_id text, tool text, response json, failed boolean, actions jsonb, parts json)
        cross join lateral holdfast.outcome_of_call(a.session, u.key) o
        order by u.key
        on conflict on constraint ledger_pkey do update set status = 'settled', response = excluded.response,
          failed = excluded.failed, parts = excluded.parts, settled_at = excluded.settled_at,
          actions = case excluded.actions when '{}' then holdfast.kept_actions(l.prepared) else excluded.actions end
          where l.status <> 'settled'
        returning l.key, l.tool, l.failed
    ) select json_agg(json_build_array(w.key, w.tool, w.failed)) into settled from written w;
    perform holdfast.cancel_requests(a.session, a.invocation, a.run_key, a.call_keys);
    perform holdfast.cut_off_jobs(a.session, array(select t.value ->> 0 from json_array_elements(settled) t));
  end if;

  if a.ending_status is not null then
    newest := holdfast.newest_step(a.session, a.run_key, greatest(a.step, r.step));
    s := holdfast.count_unknown(s, r, newest);
    s := holdfast.append_last_responses(s, r, newest, a.cut_off, a.responses);
    for e in
      select * from json_to_recordset(a.events) as t(id uuid, kind text, author text, branch text, body json)
    loop
      s.last_seq := s.last_seq + 1;
      nth := 1;
      loop
        insert into holdfast.events
          (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
          values (a.session, s.last_seq, e.id, a.invocation, a.run_key, a.step, e.kind, e.author, e.branch, e.body,
            e.kind || ':' || step_key || case when nth = 1 then '' else '.' || nth end)
          on conflict on constraint events_dedupe_key_session_id_key do nothing;
        exit when found;
        -- The step has events of the kind already.
        nth := nth + 1;
      end loop;
    end loop;
    if a.deltas is not null then
      s.state := s.state || holdfast.apply_delta(s, a.invocation, holdfast.merged_delta(a.deltas));
    end if;
    if a.run_key = a.invocation then
      s.busy_ms := s.busy_ms + holdfast.ms_between(r.created_at, clock_timestamp());
      s.listed_at := clock_timestamp();
    end if;
    ending := (left(a.ending::text, -1) || ',"usage":' || holdfast.used_by(a.session, a.invocation) || '}')::json;
    perform holdfast.cancel_requests(a.session, a.invocation, a.run_key, null);
    update holdfast.runs t set status = a.ending_status, outcome = ending, last_seq = s.last_seq, temp = '{}',
        agent = coalesce(t.agent, a.agent), ended_at = clock_timestamp()
      where t.session_id = a.session and t.run_key = a.run_key;
  end if;
  perform holdfast.save_session(s);
  return json_build_object('seq', s.last_seq, 'from', r.first_seq, 'outcome', ending, 'appended', s.last_seq > before,
    'settled', settled, 'news', holdfast.job_news(a.session, holdfast.cut_off_now()),
    'cutOff', holdfast.calls_cut_off(a.session, step_key));
end $$;

-- An attempt fails once, however often that is told. Without a number it is the newest one.
create or replace function holdfast.record_failure(session text, of_key text, error text, counts boolean, attempt int) returns int
language plpgsql as $$
#variable_conflict use_variable
declare
  failed record;
begin
  select l.attempts, l.failures, l.ended_attempts into failed
    from holdfast.ledger l where l.session_id = session and l.key = of_key for update;
  attempt := least(attempt, failed.attempts);
  if failed.attempts is null or attempt < 1 or failed.ended_attempts @> attempt then
    return failed.failures;
  end if;
  update holdfast.ledger l set ended = l.ended + 1, failures = l.failures + counts::int, last_error = error,
    ended_attempts = coalesce(l.ended_attempts, '{}') + int4multirange(int4range(attempt, attempt, '[]'))
  where l.session_id = session and l.key = of_key;
  return failed.failures + counts::int;
end $$;

-- Ends an attempt that waits instead of having an outcome. False where it doesn't count any more.
create or replace function holdfast.end_attempt(session text, run text, of_key text, attempt int) returns boolean
language plpgsql as $$
#variable_conflict use_variable
begin
  if not holdfast.attempt_counts(session, run, of_key, attempt) then
    return false;
  end if;
  update holdfast.ledger t set ended = t.ended + 1,
      ended_attempts = coalesce(t.ended_attempts, '{}') + int4multirange(int4range(attempt, attempt, '[]'))
    where t.session_id = session and t.key = of_key and not coalesce(t.ended_attempts, '{}') @> attempt;
  return true;
end $$;

-- Whether an attempt of a call is the newest one, and under way.
create or replace function holdfast.attempt_counts(session text, run text, of_key text, attempt int) returns boolean
language plpgsql as $$
#variable_conflict use_variable
declare
  l record;
  r record;
begin
  select t.status, t.step, t.attempts into l
    from holdfast.ledger t where t.session_id = session and t.key = of_key for update;
  select t.status, t.step into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  if l.status is null or r.status is null then
    raise exception using errcode = 'HF002', message = format('call %s was begun and is not in the store', of_key);
  end if;
  -- A chain that takes over reads its steps again from the first one: the run's own may be older than the call's.
  return not (r.status <> 'running' or r.step > l.step or l.status = 'settled' or l.attempts <> attempt);
end $$;

-- Keeps the first value of a name in a call or a step, and returns the one that is kept.
create or replace function holdfast.record_once(session text, of_key text, name text, value jsonb) returns json
language plpgsql as $$
declare
  kept json;
begin
  update holdfast.ledger l set once = jsonb_build_object(name, value) || coalesce(l.once, '{}')
  where l.session_id = session and l.key = of_key
  returning (l.once -> name)::json into kept;
  return kept;
end $$;
