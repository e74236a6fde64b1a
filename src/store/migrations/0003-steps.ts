/** A step's two round trips, and its end without a model call. */
export const steps = `
create function holdfast.usage_of_1(r holdfast.runs) returns json language plpgsql immutable as $$
begin
  return json_build_object('modelCalls', coalesce(r.model_calls, 0), 'promptTokens', coalesce(r.prompt_tokens, 0),
    'outputTokens', coalesce(r.output_tokens, 0), 'totalTokens', coalesce(r.total_tokens, 0));
end $$;

-- Ends what other invocations left running: their open calls get a response that says so.
create function holdfast.heal_1(inout s holdfast.sessions, invocation text) language plpgsql as $$
declare
  broken holdfast.runs;
  latest record;
  appended record;
begin
  for broken in
    select * from holdfast.runs r
    where r.session_id = s.id and r.status = 'running' and r.invocation_id <> invocation
    order by r.first_seq, r.run_key
  loop
    -- A step that has begun has the responses of the one before it.
    select l.step, l.agent, l.branch, l.call_keys, l.call_ids, l.call_tools into latest
      from holdfast.ledger l
      where l.session_id = s.id and l.key >= broken.run_key || '.' and l.key < broken.run_key || '/'
        and l.kind = 'step'
      order by l.step desc limit 1;
    if latest.call_keys is not null then
      appended := holdfast.append_responses_1(s.id, broken.run_key, broken.invocation_id, latest.step, latest.agent,
        latest.branch, latest.call_keys, latest.call_ids, latest.call_tools, s.last_seq + 1, gen_random_uuid(),
        'this call was cut off by the end of its turn; it may have run');
      s.last_seq := s.last_seq + 1;
      if appended.delta <> '{}' then
        s.state := s.state || holdfast.apply_delta_1(s, broken.invocation_id, appended.delta);
      end if;
    end if;
    update holdfast.runs r set status = 'interrupted', last_seq = s.last_seq, temp = '{}',
        ended_at = clock_timestamp(),
        outcome = json_build_object('status', 'interrupted', 'usage', holdfast.usage_of_1(r))
      where r.session_id = s.id and r.run_key = broken.run_key;
  end loop;
end $$;

-- Lets a writer pass whose fences are not lower than those recorded, and raises them to its own.
create function holdfast.pass_fences_1(inout s holdfast.sessions, r holdfast.runs, invocation text, run text,
  at_step int, started_at bigint, number int, seq bigint) language plpgsql as $$
declare
  raised boolean := (started_at, number) > (s.fence_started_at, s.fence_invocation);
begin
  if not raised and (started_at, number) <> (s.fence_started_at, s.fence_invocation) then
    raise exception using errcode = 'HF001', message = format(
      'step %s of run %s comes too late: a newer invocation writes to this session', at_step, run);
  end if;
  if r.run_key is not null
      and (started_at, number, at_step) < (r.fence_started_at, r.fence_invocation, r.step) then
    raise exception using errcode = 'HF001', message = format(
      'step %s of run %s comes too late: step %s has begun', at_step, run, r.step);
  end if;
  if s.last_seq < seq then
    raise exception using errcode = 'HF002', message = format(
      'the transcript ends at seq %s, the turn has seen seq %s', s.last_seq, seq);
  end if;
  if raised then
    s := holdfast.heal_1(s, invocation);
    s.fence_started_at := started_at;
    s.fence_invocation := number;
  end if;
end $$;

create function holdfast.save_session_1(s holdfast.sessions) returns void language plpgsql as $$
begin
  update holdfast.sessions set last_seq = s.last_seq, state = s.state, last_agent = s.last_agent,
    fence_started_at = s.fence_started_at, fence_invocation = s.fence_invocation, updated_at = clock_timestamp()
  where id = s.id;
end $$;

create function holdfast.open_step_1(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text, message_id text,
  invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  author text, branch text, message json, delta jsonb, event_id uuid, known_session text, known_seq bigint
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  step_row record;
  before record;
  appended record;
  carried jsonb;
  from_seq bigint;
  saves_state boolean := false;
  events json;
begin
  if name_key is null then
    select * into s from holdfast.sessions t where t.id = session for update;
    if not found then
      raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
    end if;
  else
    select * into s from holdfast.sessions t where t.name_key = name_key for update;
    if not found then
      insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
        values (session, name_key, app_key, user_key, app, user_id, name)
        on conflict on constraint sessions_name_key_key do nothing;
      select * into s from holdfast.sessions t where t.name_key = name_key for update;
    end if;
  end if;

  -- After the lock, not with it: a statement that waited for one sees other tables as they were before.
  select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = run;
  if r.status <> 'running' then
    return json_build_object('kind', 'finished', 'session', s.id, 'seq', r.last_seq, 'from', r.first_seq,
      'agent', r.agent, 'outcome', r.outcome);
  end if;
  select l.status, l.outcome, l.seq, l.agent, l.attempts, l.failures into step_row
    from holdfast.ledger l where l.session_id = s.id and l.key = run || '.' || at_step;
  if step_row.status = 'settled' then
    return json_build_object('kind', 'recorded', 'session', s.id, 'seq', step_row.seq, 'from', r.first_seq,
      'agent', step_row.agent, 'outcome', step_row.outcome);
  end if;

  if r.run_key is null and at_step > 1 then
    raise exception using errcode = 'HF002', message = format('run %s is not in the store', run);
  end if;
  if (fence_started_at, fence_invocation) <> (s.fence_started_at, s.fence_invocation) or s.last_seq < seq
      or (fence_started_at, fence_invocation, at_step) < (r.fence_started_at, r.fence_invocation, r.step) then
    s := holdfast.pass_fences_1(s, r, invocation, run, at_step, fence_started_at, fence_invocation, seq);
    saves_state := true;
  end if;

  if at_step > 1 then
    -- A step that was opened before has them already.
    if step_row.status is null then
      select l.status, l.agent, l.branch, l.call_keys, l.call_ids, l.call_tools into before
        from holdfast.ledger l where l.session_id = s.id and l.key = run || '.' || (at_step - 1);
      if before.status is distinct from 'settled' then
        raise exception using errcode = 'HF002', message = format('step %s of run %s is not in the store',
          at_step - 1, run);
      end if;
      if before.call_keys is not null then
        appended := holdfast.append_responses_1(s.id, run, invocation, at_step - 1, before.agent, before.branch,
          before.call_keys, before.call_ids, before.call_tools, s.last_seq + 1, event_id, null);
        carried := appended.delta;
        events := appended.event;
      end if;
    end if;
  elsif message is not null and r.message_seq is null then
    insert into holdfast.events
      (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
      values (s.id, s.last_seq + 1, event_id, invocation, run, at_step, 'message', author, branch, message, 'msg:' || run);
    carried := coalesce(delta, '{}');
    r.message_seq := s.last_seq + 1;
  end if;
  if r.run_key is null then
    insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, fence_started_at,
        fence_invocation, step, message_seq, first_seq, last_seq)
      values (s.id, run, invocation, message_id, fence_started_at, fence_invocation, at_step, r.message_seq,
        s.last_seq + 1, s.last_seq)
      returning * into r;
  else
    update holdfast.runs t set fence_started_at = fence_started_at, fence_invocation = fence_invocation,
        step = at_step, message_seq = r.message_seq
      where t.session_id = s.id and t.run_key = run;
  end if;
  from_seq := r.first_seq;
  if carried is not null then
    s.last_seq := s.last_seq + 1;
    if carried <> '{}' then
      s.state := s.state || holdfast.apply_delta_1(s, invocation, carried);
      saves_state := true;
    end if;
  end if;
  if step_row.status is null then
    insert into holdfast.ledger as l (session_id, key, kind, run_key, step, status, attempts, started_at)
      values (s.id, run || '.' || at_step, 'step', run, at_step, 'started', 1, clock_timestamp());
    step_row.attempts := 1;
    step_row.failures := 0;
  else
    update holdfast.ledger l set attempts = l.attempts + 1
      where l.session_id = s.id and l.key = run || '.' || at_step
      returning l.status, l.outcome, l.seq, l.agent, l.attempts, l.failures into step_row;
  end if;
  if saves_state then
    perform holdfast.save_session_1(s);
  else
    update holdfast.sessions t set last_seq = s.last_seq, updated_at = clock_timestamp() where t.id = s.id;
  end if;
  if run <> invocation or carried <> '{}' then
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = invocation;
  end if;
  if known_session is distinct from s.id then
    events := holdfast.events_of_1(s.id, 0, null);
  elsif known_seq = s.last_seq - 1 and events is not null then
    events := json_build_array(events);
  elsif known_seq >= s.last_seq then
    events := null;
  else
    events := holdfast.events_of_1(s.id, known_seq, null);
  end if;
  return json_build_object('kind', 'open', 'session', s.id,
    'names', json_build_object('app', s.app, 'userId', s.user_id, 'sessionId', s.name),
    'seq', s.last_seq, 'from', from_seq, 'appended', carried is not null, 'lastAgent', s.last_agent,
    'attempt', step_row.attempts, 'failures', step_row.failures, 'usage', holdfast.usage_of_1(r),
    'state', json_build_array(s.state,
      array(select json_build_array('app:' || a.key, a.value) from holdfast.app_state a where a.app_key = s.app_key),
      array(select json_build_array('user:' || u.key, u.value) from holdfast.user_state u
        where u.user_key = s.user_key),
      r.temp),
    'events', events);
end $$;

create function holdfast.add_usage_1(session text, run text, usage json) returns void language plpgsql as $$
begin
  update holdfast.runs r set
      model_calls = r.model_calls + (usage ->> 'modelCalls')::bigint,
      prompt_tokens = r.prompt_tokens + (usage ->> 'promptTokens')::bigint,
      output_tokens = r.output_tokens + (usage ->> 'outputTokens')::bigint,
      total_tokens = r.total_tokens + (usage ->> 'totalTokens')::bigint
    where r.session_id = session and r.run_key = run;
end $$;

create function holdfast.commit_step_1(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, agent text,
  event_ids uuid[], kinds text[], authors text[], branches text[], bodies json, deltas jsonb,
  call_keys text[], call_ids text[], call_tools text[],
  row_keys text[], row_indexes int[], row_call_ids text[], row_tools text[], row_args json, row_responses json,
  usage json, outcome json, ending_status text, ending json
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  step_row record;
  step_key text := run || '.' || at_step;
  delta jsonb;
begin
  select * into s from holdfast.sessions t where t.id = session for update;
  select * into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  select l.status, l.outcome, l.seq into step_row
    from holdfast.ledger l where l.session_id = session and l.key = step_key;
  if step_row.status is null or s.id is null or r.run_key is null then
    raise exception using errcode = 'HF002', message = format('step %s was opened and is not in the store', step_key);
  end if;
  if step_row.status = 'settled' then
    return json_build_object('kind', 'recorded', 'seq', step_row.seq, 'from', r.first_seq,
      'outcome', step_row.outcome);
  end if;
  if r.status <> 'running'
      or (fence_started_at, fence_invocation) <> (s.fence_started_at, s.fence_invocation)
      or (fence_started_at, fence_invocation, at_step) <> (r.fence_started_at, r.fence_invocation, r.step) then
    raise exception using errcode = 'HF001', message = format('step %s comes too late: %s', step_key,
      case when r.status <> 'running' then 'its invocation has ended' else 'a newer one writes to this session' end);
  end if;

  if cardinality(kinds) = 1 then
    insert into holdfast.events
      (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
      values (session, s.last_seq + 1, event_ids[1], invocation, run, at_step, kinds[1], authors[1], branches[1], bodies,
        kinds[1] || ':' || step_key);
  else
    insert into holdfast.events
      (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
      select session, s.last_seq + e.n, e.id, invocation, run, at_step, e.kind, e.author, e.branch, e.body,
        e.kind || ':' || step_key || case when e.nth = 1 then '' else '.' || e.nth end
      from (select u.*, row_number() over (partition by u.kind order by u.n) as nth
        from rows from (unnest(event_ids, kinds, authors, branches), json_array_elements(bodies))
          with ordinality u (id, kind, author, branch, body, n)) e;
  end if;
  s.last_seq := s.last_seq + cardinality(kinds);
  if run = invocation then
    s.last_agent := agent;
  end if;
  if deltas is null then
    update holdfast.sessions t set last_seq = s.last_seq, last_agent = s.last_agent, updated_at = clock_timestamp()
      where t.id = session;
  else
    for delta in select d.value from jsonb_array_elements(deltas) d where d.value <> 'null' loop
      s.state := s.state || holdfast.apply_delta_1(s, invocation, delta);
    end loop;
    perform holdfast.save_session_1(s);
  end if;

  if row_keys <> '{}' then
    insert into holdfast.ledger as l (session_id, key, kind, run_key, step, idx, call_id, tool, status, args, response,
        failed, actions, settled_at)
      select session, u.key, 'call', run, at_step, u.idx, u.call_id, u.tool,
        case when u.response is null then 'planned' else 'settled' end, u.args, u.response,
        u.response -> 'error' is not null,
        case when u.response is not null then '{}'::jsonb end,
        case when u.response is not null then clock_timestamp() end
      from (
        select t.key, t.idx, t.call_id, t.tool,
          case when json_typeof(t.args) <> 'null' then t.args end as args,
          case when json_typeof(t.response) <> 'null' then t.response end as response
        from rows from (unnest(row_keys, row_indexes, row_call_ids, row_tools),
          json_array_elements(row_args), json_array_elements(row_responses))
          t (key, idx, call_id, tool, args, response)
      ) u
      order by u.key
      on conflict on constraint ledger_pkey do nothing;
  end if;
  update holdfast.ledger l set status = 'settled', agent = agent, branch = branches[1], call_keys = call_keys,
      call_ids = call_ids, call_tools = call_tools, outcome = outcome,
      usage = usage, seq = s.last_seq, settled_at = clock_timestamp()
    where l.session_id = session and l.key = step_key;
  update holdfast.runs t set agent = agent, last_seq = s.last_seq, status = coalesce(ending_status, t.status),
      outcome = ending, temp = case when ending_status is null then t.temp else '{}' end,
      ended_at = case when ending_status is not null then clock_timestamp() end,
      model_calls = t.model_calls + (usage ->> 'modelCalls')::bigint,
      prompt_tokens = t.prompt_tokens + (usage ->> 'promptTokens')::bigint,
      output_tokens = t.output_tokens + (usage ->> 'outputTokens')::bigint,
      total_tokens = t.total_tokens + (usage ->> 'totalTokens')::bigint
    where t.session_id = session and t.run_key = run;
  if run <> invocation then
    -- Budgets are the invocation's.
    perform holdfast.add_usage_1(session, invocation, usage);
  end if;
  return json_build_object('kind', 'committed', 'seq', s.last_seq, 'from', r.first_seq);
end $$;

create function holdfast.settle_step_1(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  agent text, keys text[], indexes int[], call_ids text[], tools text[], errors text[],
  ending_status text, ending json, author text, branch text, error_event json, delta jsonb
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  answered record;
  appended record;
  before bigint;
  settled json;
begin
  select * into s from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  select * into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  if r.status <> 'running' then
    return json_build_object('seq', r.last_seq, 'from', r.first_seq, 'outcome', r.outcome);
  end if;
  before := s.last_seq;
  s := holdfast.pass_fences_1(s, r, invocation, run, at_step, fence_started_at, fence_invocation, seq);
  insert into holdfast.runs as t (session_id, run_key, invocation_id, fence_started_at, fence_invocation, step, agent,
      first_seq, last_seq)
    values (session, run, invocation, fence_started_at, fence_invocation, at_step, agent, s.last_seq + 1, s.last_seq)
    on conflict on constraint runs_pkey do update set fence_started_at = excluded.fence_started_at,
      fence_invocation = excluded.fence_invocation, step = excluded.step
    returning * into r;

  with written as (
    insert into holdfast.ledger as l
      (session_id, key, kind, run_key, step, idx, call_id, tool, status, response, failed, actions, settled_at)
      select session, u.key, 'call', run, at_step, u.idx, u.call_id, u.tool, 'settled',
        json_build_object('error', u.error), true, '{}', clock_timestamp()
      from unnest(keys, indexes, call_ids, tools, errors) u (key, idx, call_id, tool, error)
      order by u.key
      on conflict on constraint ledger_pkey do update set status = 'settled', response = excluded.response,
        failed = true, actions = '{}', settled_at = excluded.settled_at
        where l.status <> 'settled'
      returning l.key, l.tool
  ) select json_agg(json_build_array(w.key, w.tool)) into settled from written w;

  if ending_status is not null then
    -- A step that has begun has the responses of the one before it.
    for answered in
      select l.step, l.agent, l.branch, l.call_keys, l.call_ids, l.call_tools from holdfast.ledger l
      where l.session_id = session and l.key in (run || '.' || (at_step - 1), run || '.' || at_step)
        and l.call_keys is not null and not exists (
          select from holdfast.ledger n where n.session_id = session and n.key = run || '.' || (l.step + 1))
      order by l.step
    loop
      appended := holdfast.append_responses_1(session, run, invocation, answered.step, answered.agent,
        answered.branch, answered.call_keys, answered.call_ids, answered.call_tools, s.last_seq + 1, gen_random_uuid(),
        'this call was cut off by the end of its turn; it may have run');
      s.last_seq := s.last_seq + 1;
      if appended.delta <> '{}' then
        s.state := s.state || holdfast.apply_delta_1(s, invocation, appended.delta);
      end if;
    end loop;
    if error_event is not null then
      s.last_seq := s.last_seq + 1;
      insert into holdfast.events
        (session_id, seq, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
        values (session, s.last_seq, invocation, run, at_step, 'error', author, branch, error_event,
          'error:' || run || '.' || at_step);
      if delta is not null then
        s.state := s.state || holdfast.apply_delta_1(s, invocation, delta);
      end if;
    end if;
    update holdfast.runs t set status = ending_status, outcome = ending, last_seq = s.last_seq, temp = '{}',
        agent = coalesce(t.agent, agent), ended_at = clock_timestamp()
      where t.session_id = session and t.run_key = run;
  end if;
  perform holdfast.save_session_1(s);
  return json_build_object('seq', s.last_seq, 'from', r.first_seq, 'outcome', ending,
    'appended', s.last_seq > before, 'settled', settled);
end $$;
`;
