-- What `open_step` would append, and the state before it. Reads only, and as of one moment. `sent` is the content of a
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
