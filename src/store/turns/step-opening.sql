-- Opens an attempt at a step: appends the step's input and answers with what the attempt has to know. The first step of a
-- session's turn names the session, as `make_session` takes it; its message, author to delta, is sent along or waits in the
-- inbox. From the second step on `responses` stands in place of what the calls of the step before merge into. `caller`,
-- `calling_run`, `of_call` and `path` are of the call that runs this agent in a session of its own; `planner` is the run that
-- has planned this one.
create or replace function holdfast.open_step(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  r holdfast.runs;
  invoked holdfast.runs;
  answers holdfast.job_answers;
  answered holdfast.runs;
  handed_down holdfast.runs;
  step_row holdfast.ledger;
  before holdfast.ledger;
  taken record;
  first_of_turn boolean;
  begins boolean := false;
  own boolean := false;
  saves_state boolean := false;
  step_key text;
  inbox json;
  behind json;
  heard json;
  told json;
  news text[];
  carried jsonb;
  events json;
begin
  select * into a from json_to_record(args) as t(
    session text, name_key text, message_id text, invocation text, run_key text, step int, fence_started_at bigint,
    fence_invocation int, seq bigint, author text, branch text, body json, delta jsonb, responses json, event_id uuid,
    known_session text, known_seq bigint, message_digest text, asked json, may_give_way boolean, requester text,
    in_tree boolean, caller text, calling_run text, planner text, unawaited boolean, scheduled_at bigint);
  step_key := a.run_key || '.' || a.step;
  first_of_turn := a.name_key is not null;
  s := holdfast.session_of_step(args, a.session, a.name_key, a.caller);
  -- After the lock, not with it: a statement that waited for one sees other tables as they were before.
  select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = a.run_key;
  if a.step = 1 and a.in_tree then
    begins := r.run_key is null or r.status = 'interrupted'
      and (a.fence_started_at, a.fence_invocation) > (r.fence_started_at, r.fence_invocation);
    if begins and a.caller is not null then
      select t.requester, t.invocation_id, (
          select jsonb_object_agg(k.key, k.value) from jsonb_each(t.temp) k where k.key not like 'temp:\_holdfast\_%')
        into handed_down.requester, handed_down.invocation_id, handed_down.temp
        from holdfast.runs o join holdfast.runs t on t.session_id = o.session_id and t.run_key = o.invocation_id
        where o.session_id = a.caller and o.run_key = a.calling_run;
    end if;
    if begins and r.run_key is not null then
      r := holdfast.reopen_run(s.id, a.run_key, handed_down.temp);
    end if;
  end if;
  if first_of_turn then
    select * into answers from holdfast.job_answers t
      where t.session_id = s.id and t.message_key = sha256(convert_to(a.message_id, 'UTF8'))
        and (r.run_key is null or t.rest is not null);
    if found then
      -- The message told another turn of its jobs, and begins none. It has no other trace.
      if a.message_digest not in (answers.digest, coalesce(answers.rest, answers.digest)) then
        perform holdfast.refuse_message(a.message_id);
      end if;
      if a.message_digest = answers.digest and (r.run_key is not null or exists (
          select from holdfast.inbox i
          where i.session_id = s.id and i.invocation_id = a.invocation and i.digest = answers.rest)) then
        a.message_digest := answers.rest;
        a.body := null;
        a.delta := null;
      end if;
      answered := holdfast.answered_run(a.name_key, a.message_id, a.message_digest);
    end if;
    if a.message_digest <> r.message_digest then
      perform holdfast.refuse_message(a.message_id);
    end if;
    -- Most sessions have nothing there, which is found out in a third of the time.
    perform from holdfast.inbox i where i.session_id = s.id limit 1;
    if found then
      inbox := holdfast.waiting_messages(s.id, a.fence_started_at, a.invocation);
      own := exists (select from holdfast.inbox i where i.session_id = s.id and i.invocation_id = a.invocation);
    end if;
    if answered.run_key is not null then
      delete from holdfast.inbox i where i.session_id = s.id and i.invocation_id = a.invocation;
      r := answered;
    elsif own and a.may_give_way and r.run_key is null then
      behind := holdfast.behind(s, a.invocation, a.fence_started_at, a.message_digest);
      if behind is not null then
        return behind;
      end if;
    end if;
  end if;
  if r.status <> 'running' then
    return holdfast.finished_run(r, inbox);
  end if;
  select * into step_row from holdfast.ledger l where l.session_id = s.id and l.key = step_key;
  if step_row.status = 'settled' then
    return holdfast.recorded_step(args, s, r, step_row, inbox, begins and a.caller is not null);
  end if;

  if r.run_key is null and a.step > 1 then
    raise exception using errcode = 'HF002', message = format('run %s is not in the store', a.run_key);
  end if;
  if a.step = 1 and r.message_seq is null then
    -- Before others are cut off: what the message says of their calls is what counts.
    heard := case when a.body is null then (
        select i.message from holdfast.inbox i where own and i.session_id = s.id and i.invocation_id = a.invocation)
      when holdfast.answers_calls(a.body) then a.body -> 'content' end;
    if holdfast.answers_calls(heard) then
      perform holdfast.hear_jobs(s.id, a.invocation, heard, null);
    else
      heard := null;
    end if;
  end if;
  if (a.fence_started_at, a.fence_invocation) <> (s.fence_started_at, s.fence_invocation) or s.last_seq < a.seq
      or (a.fence_started_at, a.fence_invocation, a.step) < (r.fence_started_at, r.fence_invocation, r.step) then
    s := holdfast.pass_fences(s, r, a.invocation, a.run_key, a.step, a.fence_started_at, a.fence_invocation, a.seq);
    saves_state := true;
    news := holdfast.cut_off_now();
  elsif a.unawaited then
    perform set_config('synchronous_commit', 'off', true);
  end if;

  if a.step > 1 then
    -- A step that was opened before has them already.
    if step_row.status is null then
      before := holdfast.step_before(s.id, a.run_key, a.step);
      if before.call_keys is not null then
        select t.delta, t.event into carried, events
          from holdfast.append_responses(before, a.invocation, s.last_seq + 1, a.event_id, null, a.responses) t;
      end if;
    end if;
  elsif r.message_seq is null and (a.body is not null or first_of_turn) then
    if own then
      a.requester := coalesce(a.requester, (
        select i.requester from holdfast.inbox i where i.session_id = s.id and i.invocation_id = a.invocation));
      taken := holdfast.take_message(s.id, a.invocation, s.last_seq + 1, a.event_id, a.body is null);
      if a.message_digest <> taken.digest then
        perform holdfast.refuse_message(a.message_id);
      end if;
      a.asked := coalesce(taken.asked, a.asked);
      if a.body is null then
        carried := taken.delta;
        a.message_digest := taken.digest;
      end if;
    end if;
    if a.body is not null then
      if heard is not null then
        a.body := holdfast.json_with(a.body, 'content', holdfast.heard(s.id, a.invocation, heard, s.last_seq + 1));
      end if;
      insert into holdfast.events
        (session_id, seq, id, invocation_id, run_key, step, kind, author, branch, body, dedupe_key)
        values (s.id, s.last_seq + 1, a.event_id, a.invocation, a.run_key, a.step, 'message', a.author, a.branch, a.body,
          'msg:' || a.run_key);
      carried := coalesce(a.delta, '{}');
    elsif carried is null then
      raise exception using errcode = 'HF002', message = format('message %s is not in the store', a.message_id);
    end if;
    r.message_seq := s.last_seq + 1;
  end if;
  if r.run_key is null then
    insert into holdfast.runs as t (session_id, run_key, invocation_id, message_id, message_digest, asked, requester,
        fence_started_at, fence_invocation, step, begun_for, message_seq, first_seq, last_seq, planned_by, caller_session,
        caller_run, caller_invocation, temp)
      values (s.id, a.run_key, a.invocation, a.message_id, a.message_digest, a.asked,
        coalesce(handed_down.requester, a.requester), a.fence_started_at, a.fence_invocation, a.step, a.scheduled_at, r.message_seq,
        s.last_seq + 1, s.last_seq, a.planner, a.caller, a.calling_run, handed_down.invocation_id,
        coalesce(handed_down.temp, '{}'))
      returning * into r;
  else
    update holdfast.runs t set fence_started_at = a.fence_started_at, fence_invocation = a.fence_invocation,
        step = a.step, begun_for = greatest(t.begun_for, a.scheduled_at), message_seq = r.message_seq
      where t.session_id = s.id and t.run_key = a.run_key;
  end if;
  if carried is not null then
    s.last_seq := s.last_seq + 1;
    if carried <> '{}' then
      s.state := s.state || holdfast.apply_delta(s, a.invocation, carried);
      saves_state := true;
    end if;
  end if;
  if step_row.status is null then
    insert into holdfast.ledger as l (session_id, key, kind, run_key, step, status, attempts, begun_by, started_at)
      values (s.id, step_key, 'step', a.run_key, a.step, 'started', 1, a.event_id, clock_timestamp());
    step_row.attempts := 1;
    step_row.failures := 0;
    step_row.ended := 0;
  else
    -- One opening is one attempt, however often it is sent.
    update holdfast.ledger l set attempts = l.attempts + (l.begun_by is distinct from a.event_id)::int, begun_by = a.event_id,
        started_at = clock_timestamp()
      where l.session_id = s.id and l.key = step_key
      returning * into step_row;
  end if;
  if saves_state then
    perform holdfast.save_session(s);
  else
    update holdfast.sessions t set last_seq = s.last_seq, updated_at = clock_timestamp() where t.id = s.id;
  end if;
  invoked := r;
  if a.run_key <> a.invocation or carried <> '{}' then
    select * into invoked from holdfast.runs t where t.session_id = s.id and t.run_key = a.invocation;
    if not found then
      raise exception using errcode = 'HF002', message = format('invocation %s is not in the store', a.invocation);
    end if;
  end if;
  if a.step = 1 and carried is null then
    -- Opened again: it may be that nobody was told.
    select e.body -> 'content' into heard from holdfast.events e
      where e.session_id = s.id and e.seq = invoked.message_seq and holdfast.answers_calls(e.body);
  end if;
  if heard is not null then
    told := holdfast.told_jobs(s.id, a.invocation, heard);
    news := news || array(select t.value ->> 'jobId' from json_array_elements(told) t);
  end if;
  if a.known_session is distinct from s.id or carried is not null and a.known_seq = s.last_seq then
    -- An event that is appended now is known where a crash of the server has forgotten another one in its place.
    events := holdfast.events_of(s.id, 0, null);
  elsif a.known_seq = s.last_seq - 1 and events is not null then
    events := json_build_array(events);
  elsif a.known_seq >= s.last_seq then
    events := null;
  else
    events := holdfast.events_of(s.id, a.known_seq, null);
  end if;
  return json_build_object('kind', 'open', 'session', s.id,
    'names', json_build_object('app', s.app, 'userId', s.user_id, 'sessionId', s.name),
    'seq', s.last_seq, 'from', r.first_seq, 'appended', carried is not null, 'lastAgent', s.last_agent,
    'attempt', step_row.attempts, 'failures', step_row.failures,
    'lost', greatest(step_row.attempts - 1 - step_row.ended, 0), 'once', step_row.once, 'asked', invoked.asked, 'inbox', inbox,
    'age', holdfast.ms_between(invoked.created_at, clock_timestamp()),
    'usage', holdfast.usage_columns(invoked), 'sessionUsage', holdfast.session_usage_columns(s),
    'state', holdfast.state_parts(s.state, s.app_key, s.user_key, invoked.temp),
    'events', events, 'jobs', told, 'news', case when news <> '{}' then holdfast.job_news(s.id, news) end,
    'limits', holdfast.resting_models(),
    -- A first step follows no other one that could be remembered.
    'remembered', case when a.step > 1 then holdfast.remembered(s.id, a.run_key) end,
    'tree', case when a.in_tree then holdfast.tree_of_turn(s, a.invocation, begins and a.caller is not null) end);
end $$;

-- The session of a step, locked: that of a call's agent, one that a first step names, which is made where it is missing, or one
-- that is known.
create or replace function holdfast.session_of_step(args json, session text, of_name text, caller text)
returns holdfast.sessions language plpgsql as $$
declare
  s holdfast.sessions;
begin
  if caller is not null then
    return holdfast.called_session(args);
  elsif of_name is not null then
    return holdfast.make_session(of_name, args);
  end if;
  select * into s from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  return s;
end $$;

-- Refuses a step that comes too late, raises the session's fence, and ends what older invocations have left running. A called
-- agent's session takes no other turns: its name is known to whoever follows the root's.
create or replace function holdfast.pass_fences(inout s holdfast.sessions, r holdfast.runs, invocation text, run text,
  at_step int, started_at bigint, number int, seq bigint) language plpgsql as $$
declare
  raised boolean := (started_at, number) > (s.fence_started_at, s.fence_invocation);
begin
  if s.root_session is not null and invocation <> s.name then
    raise exception using errcode = 'HF005', message = format(
      'session %s is that of an agent which a tool has run: send messages to the session of its root', s.name);
  end if;
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
    s := holdfast.heal(s, invocation);
    s.fence_started_at := started_at;
    s.fence_invocation := number;
    s.listed_at := clock_timestamp();
  end if;
end $$;

-- A run that was broken off goes on under a newer fence: what its calls came to has been said already.
create or replace function holdfast.reopen_run(session text, run text, handed_down jsonb) returns holdfast.runs
language plpgsql as $$
declare
  r holdfast.runs;
begin
  update holdfast.runs t set status = 'running', outcome = null, ended_at = null, temp = coalesce(handed_down, '{}') || t.temp
    where t.session_id = session and t.run_key = run
    returning * into r;
  update holdfast.ledger l set call_keys = null, call_ids = null, call_tools = null
    where l.session_id = session and l.kind = 'step' and l.run_key = run and exists (
      select from holdfast.events e where e.dedupe_key = 'responses:' || l.key and e.session_id = session)
      and not exists (
        select from holdfast.ledger n where n.session_id = session and n.key = run || '.' || (l.step + 1));
  return r;
end $$;

-- The answer to a step that has ended. A chain that takes over goes on from here, under its own fence: with a prepared retry, or
-- where another one broke off.
create or replace function holdfast.recorded_step(args json, s holdfast.sessions, r holdfast.runs, recorded holdfast.ledger,
  inbox json, began boolean) returns json language plpgsql as $$
declare
  a record;
  invoked holdfast.runs;
begin
  select * into a from json_to_record(args) as t(
    invocation text, fence_started_at bigint, fence_invocation int, seq bigint, in_tree boolean, scheduled_at bigint);
  if (a.fence_started_at, a.fence_invocation) > (r.fence_started_at, r.fence_invocation)
      or recorded.step = 1 and a.fence_invocation <> r.fence_invocation and a.fence_started_at < r.fence_started_at then
    s := holdfast.pass_fences(s, r, a.invocation, r.run_key, recorded.step, a.fence_started_at, a.fence_invocation, a.seq);
    perform holdfast.save_session(s);
    update holdfast.runs t
      set fence_started_at = a.fence_started_at, fence_invocation = a.fence_invocation, step = recorded.step
      where t.session_id = s.id and t.run_key = r.run_key;
  end if;
  -- An attempt that this one has replaced begins no inline call any more.
  update holdfast.runs t set begun_for = a.scheduled_at
    where t.session_id = s.id and t.run_key = r.run_key and a.scheduled_at > coalesce(r.begun_for, 0);
  select * into invoked from holdfast.runs t where t.session_id = s.id and t.run_key = a.invocation;
  return json_build_object('kind', 'recorded', 'session', s.id, 'seq', recorded.seq, 'from', r.first_seq,
    'agent', recorded.agent, 'outcome', recorded.outcome, 'inbox', inbox, 'startedAt', invoked.fence_started_at,
    'age', holdfast.ms_between(invoked.created_at, clock_timestamp()), 'sessionUsage', holdfast.session_usage_columns(s),
    'tree', case when a.in_tree then holdfast.tree_of_turn(s, a.invocation, began) end);
end $$;

-- The answer to a step whose run has ended. A message is answered with the newest retry of its turn.
create or replace function holdfast.finished_run(r holdfast.runs, inbox json) returns json language plpgsql stable as $$
declare
  latest holdfast.runs;
begin
  select * into latest from holdfast.runs t
    where t.origin = r.run_key and r.run_key = r.invocation_id and t.session_id = r.session_id and t.status <> 'running'
    order by t.generation desc limit 1;
  if found then
    r := latest;
  end if;
  return json_build_object('kind', 'finished', 'session', r.session_id, 'seq', r.last_seq, 'from', r.first_seq,
    'agent', r.agent, 'outcome', r.outcome, 'inbox', inbox);
end $$;
