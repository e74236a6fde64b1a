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
    ending json, requests json, tool_edits json, ends boolean);
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
      updated_at = clock_timestamp()
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
  return json_build_object('kind', 'committed', 'seq', s.last_seq, 'from', r.first_seq, 'usage', used::json);
end $$;
