/** Messages end jobs, those that older workers append too: the functions keep their names. */
export const heardMessages = `
-- Deletes an invocation's row and, where it has the message's content and that is wanted, appends its event. \`delta\` is
-- null where nothing was appended, \`digest\` where nobody was told that the message is accepted and none was appended.
create or replace function holdfast.take_message_1(session text, invocation text, at_seq bigint, event_id uuid, appends boolean,
  out message_id text, out digest text, out asked json, out delta jsonb) language plpgsql as $$
declare
  taken holdfast.inbox;
  kept json;
begin
  delete from holdfast.inbox i where i.session_id = session and i.invocation_id = invocation returning * into taken;
  message_id := taken.message_id;
  if taken.agent is not null or taken.run_config is not null then
    asked := json_build_object('agent', taken.agent, 'runConfig', taken.run_config);
  end if;
  if taken.status = 'waiting' or (taken.status = 'uploaded' and appends) then
    digest := taken.digest;
  end if;
  if not appends or taken.message is null then
    return;
  end if;
  if holdfast.answers_calls_1(taken.message) then
    taken.message := holdfast.heard_1(session, invocation, taken.message, at_seq);
  end if;
  select coalesce(json_object_agg(d.key, d.value), '{}') into kept
    from json_each(taken.state_delta) d where d.key not like 'temp:%';
  insert into holdfast.events
    (session_id, seq, id, invocation_id, run_key, step, kind, author, body, dedupe_key)
    values (session, at_seq, event_id, invocation, invocation, 1, 'message', 'user',
      ('{"invocationId":' || to_json(invocation) || ',"author":"user","content":' || taken.message
        || ',"actions":{"stateDelta":' || kept
        || ',"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}')::json,
      'msg:' || invocation);
  delta := coalesce(taken.state_delta::jsonb, '{}');
end $$;

-- From the second step on a message stands in place of what the calls of the step before merge into.
create or replace function holdfast.open_step_2(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text, message_id text,
  invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  author text, branch text, message json, delta jsonb, event_id uuid, known_session text, known_seq bigint,
  message_digest text, asked json, may_give_way boolean, requester text
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
  behind json;
  own boolean := false;
  taken record;
  carried jsonb;
  from_seq bigint;
  saves_state boolean := false;
  events json;
  heard json;
  told json;
  news text[];
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
      if own and may_give_way and r.run_key is null then
        behind := holdfast.behind_1(s, invocation, fence_started_at, message_digest);
        if behind is not null then
          return behind;
        end if;
      end if;
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
  select l.status, l.outcome, l.seq, l.agent, l.attempts, l.failures, l.ended, l.once into step_row
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
  if at_step = 1 and r.message_seq is null then
    -- Before others are cut off: what the message says of their calls is what counts.
    heard := case when message is null then (
        select i.message from holdfast.inbox i where own and i.session_id = s.id and i.invocation_id = invocation)
      when holdfast.answers_calls_1(message) then message -> 'content' end;
    if holdfast.answers_calls_1(heard) then
      perform holdfast.hear_jobs_1(s.id, invocation, heard, null);
    else
      heard := null;
    end if;
  end if;
  if (fence_started_at, fence_invocation) <> (s.fence_started_at, s.fence_invocation) or s.last_seq < seq
      or (fence_started_at, fence_invocation, at_step) < (r.fence_started_at, r.fence_invocation, r.step) then
    s := holdfast.pass_fences_1(s, r, invocation, run, at_step, fence_started_at, fence_invocation, seq);
    saves_state := true;
    news := holdfast.cut_off_now_1();
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
      if before.call_keys is not null and message is null then
        appended := holdfast.append_responses_1(s.id, run, invocation, at_step - 1, before.agent, before.branch,
          before.call_keys, before.call_ids, before.call_tools, s.last_seq + 1, event_id, null, before.of_run,
          before.of_step);
        carried := appended.delta;
        events := appended.event;
      elsif before.call_keys is not null then
        events := holdfast.append_given_responses_1(s.id, run, invocation, at_step - 1,
          before.call_keys, before.call_ids, before.call_tools, s.last_seq + 1, event_id, null, before.of_run,
          before.of_step, author, branch, message);
        carried := coalesce(delta, '{}');
      end if;
    end if;
  elsif r.message_seq is null and (message is not null or name_key is not null) then
    if own then
      requester := coalesce(requester, (
        select i.requester from holdfast.inbox i where i.session_id = s.id and i.invocation_id = invocation));
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
      if heard is not null then
        message := holdfast.json_with_1(message, 'content', holdfast.heard_1(s.id, invocation, heard, s.last_seq + 1));
      end if;
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
    insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, message_digest, asked, requester,
        fence_started_at, fence_invocation, step, message_seq, first_seq, last_seq)
      values (s.id, run, invocation, message_id, message_digest, asked, requester, fence_started_at, fence_invocation,
        at_step, r.message_seq, s.last_seq + 1, s.last_seq)
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
      returning l.status, l.outcome, l.seq, l.agent, l.attempts, l.failures, l.ended, l.once into step_row;
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
  if at_step = 1 and carried is null then
    -- Opened again: it may be that nobody was told.
    select e.body -> 'content' into heard from holdfast.events e
      where e.session_id = s.id and e.seq = r.message_seq and holdfast.answers_calls_1(e.body);
  end if;
  if heard is not null then
    told := holdfast.told_jobs_1(s.id, invocation, heard);
    news := news || array(select t.value ->> 'jobId' from json_array_elements(told) t);
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
    'lost', greatest(step_row.attempts - 1 - step_row.ended, 0), 'once', step_row.once, 'asked', r.asked, 'inbox', inbox,
    'age', holdfast.ms_between_1(r.created_at, clock_timestamp()),
    'usage', json_build_array(r.model_calls, r.prompt_tokens, r.output_tokens, r.total_tokens, r.cost, r.unknown_calls),
    'sessionUsage', json_build_array(s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost,
        s.unknown_calls, s.busy_ms),
    'state', json_build_array(s.state,
      array(select json_build_array('app:' || a.key, a.value) from holdfast.app_state a where a.app_key = s.app_key),
      array(select json_build_array('user:' || u.key, u.value) from holdfast.user_state u
        where u.user_key = s.user_key),
      r.temp),
    'events', events, 'jobs', told,
    'news', case when news <> '{}' then holdfast.job_news_1(s.id, news) end);
end $$;
`;
