/** Steps of agents that others have run. */
export const childSteps = `
-- The key of a session, which must be no agent's that a call has run.
create function holdfast.root_key_1(of_key text) returns text language plpgsql stable as $$
declare
  called text := (select t.name from holdfast.sessions t where t.name_key = of_key and t.root_session is not null);
begin
  if called is not null then
    raise exception using errcode = 'HF005', message = format(
      'session %s is that of an agent which a tool has run: name the session of its root', called);
  end if;
  return of_key;
end $$;

-- The session of an agent that a call runs, locked: it begins with a copy of its caller's state, without what is kept for others.
create function holdfast.called_session_1(session text, name_key text, app_key text, user_key text, app text, user_id text, name text,
  caller text, run text, of_call text, path json) returns holdfast.sessions language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  c holdfast.sessions;
  of_run holdfast.runs;
begin
  select * into s from holdfast.sessions t where t.name_key = name_key for update;
  if not found then
    s := holdfast.make_session_1(session, name_key, app_key, user_key, app, user_id, name);
  end if;
  if (s.caller_session, s.caller_run, s.call_key) = (caller, run, of_call) then
    return s;
  end if;
  if s.id <> session then
    raise exception using errcode = 'HF005', message = format('session %s is not that of the call %s', name, of_call);
  end if;
  select * into c from holdfast.sessions t where t.id = caller for key share;
  select * into of_run from holdfast.runs t where t.session_id = caller and t.run_key = run;
  if c.id is null or of_run.run_key is null then
    raise exception using errcode = 'HF002', message = format('run %s, whose call runs an agent, is not in the store', run);
  end if;
  update holdfast.sessions t set state = d.own, initial = d.own, caller_session = caller, caller_run = run, call_key = of_call,
      agent_path = path, root_session = coalesce(c.root_session, c.id), root_run = coalesce(c.root_run, of_run.invocation_id)
    from (
      select coalesce(jsonb_object_agg(k.key, k.value) filter (where k.key not like '\\_adk%'), '{}') as own
      from jsonb_each(c.state) k) d
    where t.id = s.id
    returning t.* into s;
  return s;
end $$;

-- A run that was broken off goes on under a newer fence: what its calls came to has been said already.
create function holdfast.reopen_run_1(session text, run text) returns void language plpgsql as $$
begin
  update holdfast.runs t set status = 'running', outcome = null, ended_at = null
    where t.session_id = session and t.run_key = run;
  update holdfast.ledger l set call_keys = null, call_ids = null, call_tools = null
    where l.session_id = session and l.kind = 'step' and l.run_key = run and exists (
      select from holdfast.events e where e.dedupe_key = 'responses:' || l.key and e.session_id = session)
      and not exists (
        select from holdfast.ledger n where n.session_id = session and n.key = run || '.' || (l.step + 1));
end $$;

-- As open_step_2, of an agent that another one has run: with what the tree of its turn has used, and where that is.
create function holdfast.open_child_step_1(
  session text, name_key text, app_key text, user_key text, app text, user_id text, name text, message_id text,
  invocation text, run text, at_step int, fence_started_at bigint, fence_invocation int, seq bigint,
  author text, branch text, message json, delta jsonb, event_id uuid, known_session text, known_seq bigint,
  message_digest text, asked json, may_give_way boolean, requester text,
  caller text, calling_run text, of_call text, path json, planner text
) returns json language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  r holdfast.runs;
  c holdfast.runs;
  top holdfast.runs;
  answer json;
  scratch jsonb;
  begins boolean;
begin
  if caller is not null then
    s := holdfast.called_session_1(session, name_key, app_key, user_key, app, user_id, name, caller, calling_run, of_call, path);
  else
    select * into s from holdfast.sessions t where t.id = session for update;
    if not found then
      raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
    end if;
  end if;
  select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = run;
  begins := at_step = 1 and (r.run_key is null or r.status = 'interrupted'
    and (fence_started_at, fence_invocation) > (r.fence_started_at, r.fence_invocation));
  if begins and r.run_key is not null then
    perform holdfast.reopen_run_1(s.id, run);
  end if;
  if begins and caller is not null then
    select t.requester, t.temp, t.invocation_id into c.requester, c.temp, c.invocation_id
      from holdfast.runs o join holdfast.runs t on t.session_id = o.session_id and t.run_key = o.invocation_id
      where o.session_id = caller and o.run_key = calling_run;
    requester := c.requester;
    select coalesce(jsonb_object_agg(k.key, k.value) filter (where k.key not like 'temp:\\_holdfast\\_%'), '{}') into scratch
      from jsonb_each(c.temp) k;
  end if;
  answer := holdfast.open_step_2(session, name_key, app_key, user_key, app, user_id, name, message_id, invocation, run, at_step,
    fence_started_at, fence_invocation, seq, author, branch, message, delta, event_id, known_session, known_seq,
    message_digest, asked, may_give_way, requester);
  if begins and (caller is not null or planner is not null) then
    update holdfast.runs t set planned_by = planner, caller_session = caller, caller_run = calling_run,
        caller_invocation = c.invocation_id, temp = coalesce(scratch, '{}') || t.temp
      where t.session_id = s.id and t.run_key = run;
  end if;
  if at_step = 1 and caller is not null and scratch is null then
    select t.temp into scratch from holdfast.runs t where t.session_id = s.id and t.run_key = run;
  end if;
  select * into top from holdfast.runs t
    where t.session_id = coalesce(s.root_session, s.id) and t.run_key = coalesce(s.root_run, invocation);
  return json_build_object('answer', answer, 'temp', scratch, 'began', begins and caller is not null,
    'usage', json_build_array(top.model_calls, top.prompt_tokens, top.output_tokens, top.total_tokens, top.cost,
      top.unknown_calls),
    'age', holdfast.ms_between_1(top.created_at, clock_timestamp()),
    'sessionUsage', case when s.root_session is not null then (
      select json_build_array(n.model_calls, n.prompt_tokens, n.output_tokens, n.total_tokens, n.cost, n.unknown_calls, n.busy_ms)
      from holdfast.sessions n where n.id = s.root_session) end,
    'root', case when s.root_session is not null then (
      select json_build_object('session', n.id,
        'names', json_build_object('app', n.app, 'userId', n.user_id, 'sessionId', n.name))
      from holdfast.sessions n where n.id = s.root_session) end);
end $$;
`;
