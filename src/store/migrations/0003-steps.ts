/** JSON text of usage. An expression rather than a function: calling one takes three times as long. */
function usageText(of: Record<'calls' | 'prompt' | 'output' | 'total' | 'cost' | 'unknown', string>): string {
  return `'{"modelCalls":' || (${of.calls}) || ',"promptTokens":' || (${of.prompt}) || ',"outputTokens":' || (${of.output})
    || ',"totalTokens":' || (${of.total}) || coalesce(',"cost":' || to_json(${of.cost}), '')
    || case when ${of.unknown} > 0 then ',"unknownCalls":' || (${of.unknown}) else '' end || '}'`;
}

/** A step's two round trips. */
export const steps = `
-- From the database's clock, which may be set back.
create function holdfast.ms_between_1(earlier timestamptz, later timestamptz) returns bigint language sql immutable as $$
  select greatest((extract(epoch from later - earlier) * 1000)::bigint, 0)
$$;

-- Text of JSON.
create function holdfast.usage_of_1(r holdfast.runs) returns text language plpgsql immutable as $$
begin
  return ${usageText({
    calls: 'r.model_calls',
    prompt: 'r.prompt_tokens',
    output: 'r.output_tokens',
    total: 'r.total_tokens',
    cost: 'r.cost',
    unknown: 'r.unknown_calls',
  })};
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
    fence_started_at = s.fence_started_at, fence_invocation = s.fence_invocation, model_calls = s.model_calls,
    prompt_tokens = s.prompt_tokens, output_tokens = s.output_tokens, total_tokens = s.total_tokens, cost = s.cost,
    unknown_calls = s.unknown_calls, busy_ms = s.busy_ms, updated_at = clock_timestamp()
  where id = s.id;
end $$;

create function holdfast.open_step_1(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text, message_id text,
  invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  author text, branch text, message json, delta jsonb, event_id uuid, known_session text, known_seq bigint,
  message_digest text, asked json
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  latest holdfast.runs;
  step_row record;
  before record;
  appended record;
  inbox json;
  own boolean := false;
  taken record;
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
      s := holdfast.make_session_1(session, name_key, app_key, user_key, app, user_id, name);
    end if;
  end if;

  -- After the lock, not with it: a statement that waited for one sees other tables as they were before.
  select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = run;
  if name_key is not null then
    if message_digest <> r.message_digest then
      perform holdfast.refuse_message_1(message_id);
    end if;
    -- Most sessions have nothing there, which is found out in a third of the time.
    perform from holdfast.inbox i where i.session_id = s.id limit 1;
    if found then
      select json_agg(json_build_array(i.message_id, i.invocation_id, i.agent, i.run_config, i.place, i.digest, i.bytes)
            order by i.chain_started_at, i.place, i.created_at)
        into inbox from holdfast.inbox i -- A chain knows those that it has accepted itself.
        where i.waits_in = s.id and i.invocation_id <> invocation and i.chain_started_at <> fence_started_at;
      own := exists (select from holdfast.inbox i where i.session_id = s.id and i.invocation_id = invocation);
    end if;
  end if;
  if r.status <> 'running' then
    if run = invocation then
      -- A message is answered with the newest retry of its turn.
      select * into latest from holdfast.runs t
        where t.origin = invocation and t.session_id = s.id and t.status <> 'running'
        order by t.generation desc limit 1;
      if found then
        r := latest;
      end if;
    end if;
    return json_build_object('kind', 'finished', 'session', s.id, 'seq', r.last_seq, 'from', r.first_seq,
      'agent', r.agent, 'outcome', r.outcome, 'inbox', inbox);
  end if;
  select l.status, l.outcome, l.seq, l.agent, l.attempts, l.failures, l.ended into step_row
    from holdfast.ledger l where l.session_id = s.id and l.key = run || '.' || at_step;
  if step_row.status = 'settled' then
    if (fence_started_at, fence_invocation) > (r.fence_started_at, r.fence_invocation)
        or at_step = 1 and fence_invocation <> r.fence_invocation
          and fence_started_at < r.fence_started_at then
      -- A chain that takes over goes on from here, under its own fence: with a prepared retry, or where another one broke off.
      s := holdfast.pass_fences_1(s, r, invocation, run, at_step, fence_started_at, fence_invocation, seq);
      perform holdfast.save_session_1(s);
      update holdfast.runs t set fence_started_at = fence_started_at, fence_invocation = fence_invocation, step = at_step
        where t.session_id = s.id and t.run_key = run
        returning * into r;
    end if;
    from_seq := r.first_seq;
    if run <> invocation then
      select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = invocation;
    end if;
    return json_build_object('kind', 'recorded', 'session', s.id, 'seq', step_row.seq, 'from', from_seq,
      'agent', step_row.agent, 'outcome', step_row.outcome, 'inbox', inbox, 'startedAt', r.fence_started_at,
      'age', holdfast.ms_between_1(r.created_at, clock_timestamp()),
      'sessionUsage', json_build_array(s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost,
        s.unknown_calls, s.busy_ms));
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
      select l.status, l.agent, l.branch, l.call_keys, l.call_ids, l.call_tools, l.of_run, l.of_step into before
        from holdfast.ledger l where l.session_id = s.id and l.key = run || '.' || (at_step - 1);
      if before.status is distinct from 'settled' then
        raise exception using errcode = 'HF002', message = format('step %s of run %s is not in the store',
          at_step - 1, run);
      end if;
      if before.call_keys is not null then
        appended := holdfast.append_responses_1(s.id, run, invocation, at_step - 1, before.agent, before.branch,
          before.call_keys, before.call_ids, before.call_tools, s.last_seq + 1, event_id, null, before.of_run,
          before.of_step);
        carried := appended.delta;
        events := appended.event;
      end if;
    end if;
  elsif r.message_seq is null and (message is not null or name_key is not null) then
    if own then
      taken := holdfast.take_message_1(s.id, invocation, s.last_seq + 1, event_id, message is null);
      if message_digest <> taken.digest then
        perform holdfast.refuse_message_1(message_id);
      end if;
      asked := coalesce(taken.asked, asked);
      if message is null then
        carried := taken.delta;
        message_digest := taken.digest;
      end if;
    end if;
    if message is not null then
      insert into holdfast.events
        (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
        values (s.id, s.last_seq + 1, event_id, invocation, run, at_step, 'message', author, branch, message, 'msg:' || run);
      carried := coalesce(delta, '{}');
    elsif carried is null then
      raise exception using errcode = 'HF002', message = format('message %s is not in the store', message_id);
    end if;
    r.message_seq := s.last_seq + 1;
  end if;
  if r.run_key is null then
    insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, message_digest, asked,
        fence_started_at, fence_invocation, step, message_seq, first_seq, last_seq)
      values (s.id, run, invocation, message_id, message_digest, asked, fence_started_at, fence_invocation, at_step,
        r.message_seq, s.last_seq + 1, s.last_seq)
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
    insert into holdfast.ledger as l (session_id, key, kind, run_key, step, status, attempts, begun_by, started_at)
      values (s.id, run || '.' || at_step, 'step', run, at_step, 'started', 1, event_id, clock_timestamp());
    step_row.attempts := 1;
    step_row.failures := 0;
    step_row.ended := 0;
  else
    -- One opening is one attempt, however often it is sent.
    update holdfast.ledger l set attempts = l.attempts + (l.begun_by is distinct from event_id)::int, begun_by = event_id,
        started_at = clock_timestamp()
      where l.session_id = s.id and l.key = run || '.' || at_step
      returning l.status, l.outcome, l.seq, l.agent, l.attempts, l.failures, l.ended into step_row;
  end if;
  if saves_state then
    perform holdfast.save_session_1(s);
  else
    update holdfast.sessions t set last_seq = s.last_seq, updated_at = clock_timestamp() where t.id = s.id;
  end if;
  if run <> invocation or carried <> '{}' then
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = invocation;
    if not found then
      raise exception using errcode = 'HF002', message = format('invocation %s is not in the store', invocation);
    end if;
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
    'attempt', step_row.attempts, 'failures', step_row.failures,
    'lost', greatest(step_row.attempts - 1 - step_row.ended, 0), 'asked', r.asked, 'inbox', inbox,
    'age', holdfast.ms_between_1(r.created_at, clock_timestamp()),
    'usage', json_build_array(r.model_calls, r.prompt_tokens, r.output_tokens, r.total_tokens, r.cost, r.unknown_calls),
    'sessionUsage', json_build_array(s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost,
        s.unknown_calls, s.busy_ms),
    'state', json_build_array(s.state,
      array(select json_build_array('app:' || a.key, a.value) from holdfast.app_state a where a.app_key = s.app_key),
      array(select json_build_array('user:' || u.key, u.value) from holdfast.user_state u
        where u.user_key = s.user_key),
      r.temp),
    'events', events);
end $$;

-- \`outcome_head\` and \`ending_head\` are objects without their closing braces: what the invocation used is known only here.
create function holdfast.commit_step_1(
  session text, invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, agent text,
  event_ids uuid[], kinds text[], authors text[], branches text[], bodies json, deltas jsonb,
  call_keys text[], call_ids text[], call_tools text[],
  row_keys text[], row_indexes int[], row_call_ids text[], row_tools text[], row_args json, row_responses json,
  usage json, model_calls bigint, prompt_tokens bigint, output_tokens bigint, total_tokens bigint,
  cost double precision, outcome_head text, ending_status text, ending_head text
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  step_row record;
  step_key text := run || '.' || at_step;
  given jsonb;
  delta jsonb := '{}';
  unknown int;
  used text;
begin
  select * into s from holdfast.sessions t where t.id = session for update;
  select * into r from holdfast.runs t where t.session_id = session and t.run_key = run;
  select l.status, l.outcome, l.seq, l.attempts, l.ended into step_row
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
    if ending_status is not null then
      s.busy_ms := s.busy_ms + holdfast.ms_between_1(r.created_at, clock_timestamp());
    end if;
  end if;
  -- Other attempts at this step that ended without a word: each may have asked the model.
  unknown := greatest(step_row.attempts - 1 - step_row.ended, 0);
  model_calls := model_calls + unknown;
  if deltas is null then
    update holdfast.sessions t set last_seq = s.last_seq, last_agent = s.last_agent,
        model_calls = t.model_calls + model_calls, prompt_tokens = t.prompt_tokens + prompt_tokens,
        output_tokens = t.output_tokens + output_tokens, total_tokens = t.total_tokens + total_tokens,
        cost = coalesce(t.cost + cost, t.cost, cost), unknown_calls = t.unknown_calls + unknown,
        busy_ms = s.busy_ms, updated_at = clock_timestamp()
      where t.id = session;
  else
    -- Together, so that shared keys are locked in one order.
    for given in select d.value from jsonb_array_elements(deltas) d where d.value <> 'null' loop
      delta := delta || given;
    end loop;
    s.state := s.state || holdfast.apply_delta_1(s, invocation, delta);
    s.model_calls := s.model_calls + model_calls;
    s.prompt_tokens := s.prompt_tokens + prompt_tokens;
    s.output_tokens := s.output_tokens + output_tokens;
    s.total_tokens := s.total_tokens + total_tokens;
    s.cost := coalesce(s.cost + cost, s.cost, cost);
    s.unknown_calls := s.unknown_calls + unknown;
    perform holdfast.save_session_1(s);
  end if;
  if run = invocation then
    used := ${usageText({
      calls: 'r.model_calls + model_calls',
      prompt: 'r.prompt_tokens + prompt_tokens',
      output: 'r.output_tokens + output_tokens',
      total: 'r.total_tokens + total_tokens',
      cost: 'coalesce(r.cost + cost, r.cost, cost)',
      unknown: 'r.unknown_calls + unknown',
    })};
  else
    -- Budgets are the invocation's.
    used := holdfast.usage_of_1(holdfast.add_usage_1(session, invocation, model_calls, prompt_tokens, output_tokens,
      total_tokens, cost, unknown));
  end if;
  ending_head := ending_head || ',"usage":' || used || '}';
  outcome_head := outcome_head || coalesce(',"outcome":' || ending_head, ',"usage":' || used) || '}';

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
      call_ids = call_ids, call_tools = call_tools, outcome = outcome_head::json,
      usage = usage, seq = s.last_seq, settled_at = clock_timestamp()
    where l.session_id = session and l.key = step_key;
  update holdfast.runs t set agent = agent, last_seq = s.last_seq, status = coalesce(ending_status, t.status),
      outcome = case when ending_status is not null then ending_head::json end,
      temp = case when ending_status is null then t.temp else '{}' end,
      ended_at = case when ending_status is not null then clock_timestamp() end,
      model_calls = t.model_calls + model_calls, prompt_tokens = t.prompt_tokens + prompt_tokens,
      output_tokens = t.output_tokens + output_tokens, total_tokens = t.total_tokens + total_tokens,
      cost = coalesce(t.cost + cost, t.cost, cost), unknown_calls = t.unknown_calls + unknown
    where t.session_id = session and t.run_key = run;
  return json_build_object('kind', 'committed', 'seq', s.last_seq, 'from', r.first_seq, 'usage', used::json);
end $$;
`;
