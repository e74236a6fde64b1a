-- The events that `open_step` would append, and the state before them. Reads only, and as of one moment. `sent` is the content of a
-- message that is sent along; without one the message waits in the inbox.
create or replace function holdfast.peek_step(args json) returns json language plpgsql stable as $$
declare
  a record;
  s holdfast.sessions;
  r holdfast.runs;
  own holdfast.runs;
  before holdfast.ledger;
  waiting holdfast.inbox;
  begun boolean;
  behind json;
  responses json;
  delta jsonb;
  content json;
  user_content json;
begin
  select * into a from json_to_record(args) as t(
    session text, name_key text, app_key text, user_key text, message_id text, invocation text, run_key text, step int,
    chain_started_at bigint, message_digest text, may_give_way boolean, sent json);
  if a.name_key is null then
    select * into s from holdfast.sessions t where t.id = a.session;
    if not found then
      raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
    end if;
  else
    select * into s from holdfast.sessions t where t.name_key = a.name_key;
  end if;
  select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = a.run_key;
  begun := exists (select from holdfast.ledger l where l.session_id = s.id and l.key = a.run_key || '.' || a.step)
    or coalesce(r.status <> 'running', false) or a.step = 1 and r.message_seq is not null
    -- The message told another turn of its jobs, and begins none.
    or a.name_key is not null and (holdfast.answered_run(a.name_key, a.message_id, a.message_digest)).run_key is not null;
  if a.step = 1 then
    if not begun then
      select * into waiting from holdfast.inbox i where i.session_id = s.id and i.invocation_id = a.invocation;
      if found and a.may_give_way and r.run_key is null then
        behind := holdfast.behind(s, a.invocation, a.chain_started_at, a.message_digest);
      end if;
      content := coalesce(a.sent, waiting.message);
      content := coalesce(case when s.id is not null and holdfast.answers_calls(content) then
        holdfast.answered_content(s.id, a.invocation, content) end, case when a.sent is null then content end);
    end if;
  elsif r.run_key is null then
    raise exception using errcode = 'HF002', message = format('run %s is not in the store', a.run_key);
  else
    if not begun then
      before := holdfast.step_before(s.id, a.run_key, a.step);
      if before.call_keys is not null then
        select m.body, m.delta into responses, delta from holdfast.merged_responses(before, a.invocation) m;
      end if;
    end if;
    user_content := (
      select e.body -> 'content' from holdfast.events e
      where e.session_id = s.id and e.seq = (
        select t.message_seq from holdfast.runs t where t.session_id = s.id and t.run_key = a.invocation));
  end if;
  select * into own from holdfast.runs t where t.session_id = s.id and t.run_key = a.invocation;
  return json_build_object(
    'names', case when s.id is not null then
      json_build_object('app', s.app, 'userId', s.user_id, 'sessionId', s.name) end,
    'behind', behind, 'begun', begun, 'seq', coalesce(s.last_seq, 0), 'from', coalesce(r.first_seq, 0),
    'userContent', user_content, 'message', content, 'stateDelta', waiting.state_delta, 'messageDigest', waiting.digest,
    'responses', responses, 'delta', delta, 'answers', case when responses is not null then
      json_build_object('runKey', coalesce(before.of_run, a.run_key), 'step', coalesce(before.of_step, a.step - 1)) end,
    'asked', own.asked, 'remembered', case when a.step > 1 then holdfast.remembered(s.id, a.run_key) end,
    'state', holdfast.state_parts(coalesce(s.state, '{}'), coalesce(s.app_key, a.app_key), coalesce(s.user_key, a.user_key),
      own.temp));
end $$;

-- The step before one that begins, which must have ended.
create or replace function holdfast.step_before(session text, run text, at_step int) returns holdfast.ledger
language plpgsql stable as $$
declare
  before holdfast.ledger;
begin
  select * into before from holdfast.ledger l
    where l.session_id = session and l.key = run || '.' || (at_step - 1) and l.status = 'settled';
  if not found then
    raise exception using errcode = 'HF002', message = format('step %s of run %s is not in the store', at_step - 1, run);
  end if;
  return before;
end $$;

-- The last step that a run has opened, looked for around the one that its row names: a chain that took over may have
-- begun again with an earlier one. Its calls are the only ones that can lack responses: a step that has begun has those of
-- the one before it.
create or replace function holdfast.newest_step(session text, run text, around int) returns holdfast.ledger
language plpgsql stable as $$
declare
  newest holdfast.ledger;
  higher holdfast.ledger;
begin
  for n in reverse around .. 1 loop
    select * into newest from holdfast.ledger l where l.session_id = session and l.key = run || '.' || n;
    exit when found;
  end loop;
  while newest.key is not null loop
    select * into higher from holdfast.ledger l
      where l.session_id = session and l.key = run || '.' || (newest.step + 1);
    exit when not found;
    newest := higher;
  end loop;
  return newest;
end $$;

-- The author that an event names may be anybody: its step knows the agent.
create or replace function holdfast.last_agent(session text, at_seq bigint) returns text language plpgsql stable as $$
declare
  step_key text;
  acted text;
begin
  for step_key in
    select v.run_key || '.' || v.step from holdfast.visible(session, at_seq) v
    where v.kind in ('model', 'callback', 'error') and v.run_key = v.invocation_id order by v.seq desc
  loop
    select t.agent into acted from holdfast.lineage(session, at_seq) l
      cross join lateral (
        select t.agent from holdfast.ledger t
        where t.session_id = l.of_session and t.key = step_key and t.agent is not null offset 0
      ) t limit 1;
    exit when acted is not null;
  end loop;
  return acted;
end $$;

-- Null of nearly all runs. Volatile, so that it sees what the statement that it stands in has waited for.
create or replace function holdfast.remembered(session text, run text) returns json language plpgsql as $$
#variable_conflict use_variable
begin
  return (
    select json_build_object(
      'toolEdits', (array_agg(l.tool_edits order by l.step desc) filter (where l.tool_edits is not null))[1],
      'ends', coalesce(bool_or(l.ends), false))
    from holdfast.ledger l
    where l.session_id = session and l.run_key = run and l.kind = 'step' and (l.tool_edits is not null or l.ends)
    having count(*) > 0);
end $$;
