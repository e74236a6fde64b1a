/**
 * Agents that calls have run, each in a session of its own below that of its caller, and agents that others have run in the same
 * session. Locks go upwards: a session's own, then its caller's; who ends those below a session gives way where both meet.
 */
export const children = `
-- The call that has an agent run, by the session, the run and the invocation that it belongs to, and the turn at the top of it all.
alter table holdfast.sessions
  add column caller_session text collate "C",
  add column caller_run text collate "C",
  add column call_key text collate "C",
  add column agent_path json,
  add column root_session text collate "C",
  add column root_run text collate "C";
drop index holdfast.sessions_of_app;
drop index holdfast.sessions_of_user;
create index sessions_of_app on holdfast.sessions (app_key, created_at, id) where root_session is null;
create index sessions_of_user on holdfast.sessions (user_key, created_at) where root_session is null;
create index sessions_below on holdfast.sessions (root_session, created_at) where root_session is not null;

alter table holdfast.runs
  add column planned_by text collate "C",
  add column caller_session text collate "C",
  add column caller_run text collate "C",
  add column caller_invocation text collate "C";
create index runs_called on holdfast.runs (caller_session, run_key) where caller_session is not null;

-- What a called agent uses its caller uses, and so on up to the root. The session goes before its runs, as everywhere.
create function holdfast.add_usage_above_1() returns trigger language plpgsql as $$
declare
  paid double precision := case when new.cost is distinct from old.cost then coalesce(new.cost, 0) - coalesce(old.cost, 0) end;
begin
  update holdfast.sessions t set model_calls = t.model_calls + new.model_calls - old.model_calls,
      prompt_tokens = t.prompt_tokens + new.prompt_tokens - old.prompt_tokens,
      output_tokens = t.output_tokens + new.output_tokens - old.output_tokens,
      total_tokens = t.total_tokens + new.total_tokens - old.total_tokens,
      unknown_calls = t.unknown_calls + new.unknown_calls - old.unknown_calls,
      cost = coalesce(t.cost + paid, t.cost, paid), updated_at = clock_timestamp()
    where t.id = new.caller_session;
  update holdfast.runs t set model_calls = t.model_calls + new.model_calls - old.model_calls,
      prompt_tokens = t.prompt_tokens + new.prompt_tokens - old.prompt_tokens,
      output_tokens = t.output_tokens + new.output_tokens - old.output_tokens,
      total_tokens = t.total_tokens + new.total_tokens - old.total_tokens,
      unknown_calls = t.unknown_calls + new.unknown_calls - old.unknown_calls,
      cost = coalesce(t.cost + paid, t.cost, paid)
    where t.session_id = new.caller_session and t.run_key in (new.caller_run, new.caller_invocation);
  return null;
end $$;
create trigger runs_use_above after update on holdfast.runs for each row
  when (new.caller_session is not null
    and (new.model_calls, new.prompt_tokens, new.output_tokens, new.total_tokens, new.unknown_calls, new.cost)
      is distinct from (old.model_calls, old.prompt_tokens, old.output_tokens, old.total_tokens, old.unknown_calls, old.cost))
  execute function holdfast.add_usage_above_1();

-- A called agent's session takes no other turns: its name is known to whoever follows the root's.
create or replace function holdfast.pass_fences_1(inout s holdfast.sessions, r holdfast.runs, invocation text, run text,
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
    s := holdfast.heal_1(s, invocation);
    s.fence_started_at := started_at;
    s.fence_invocation := number;
  end if;
end $$;

-- Ends all that is left running in the session of a called agent.
create function holdfast.end_called_1(called text) returns void language plpgsql as $$
declare
  s holdfast.sessions;
begin
  select * into s from holdfast.sessions t where t.id = called for update;
  if found then
    s := holdfast.heal_1(s, '');
    perform holdfast.save_session_1(s);
  end if;
end $$;

-- Ends runs of a session as interrupted, those of agents that their calls have run before them: open calls get a response that says
-- so, and requests are cancelled.
create function holdfast.interrupt_runs_1(inout s holdfast.sessions, broken text[], below text[]) language plpgsql as $$
declare
  r holdfast.runs;
  one text;
  newest holdfast.ledger;
  last_sign timestamptz;
begin
  foreach one in array below loop
    perform holdfast.end_called_1(one);
  end loop;
  if below <> '{}' then
    select t.model_calls, t.prompt_tokens, t.output_tokens, t.total_tokens, t.cost, t.unknown_calls
      into s.model_calls, s.prompt_tokens, s.output_tokens, s.total_tokens, s.cost, s.unknown_calls
      from holdfast.sessions t where t.id = s.id;
  end if;
  -- All are counted before the first outcome is written: a child's calls are its invocation's too.
  foreach one in array broken loop
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = one;
    newest := holdfast.newest_step_1(s.id, r.run_key, r.step);
    s := holdfast.count_unknown_1(s, r, newest);
    last_sign := greatest(last_sign, holdfast.last_sign_1(r, newest));
  end loop;
  foreach one in array broken loop
    select * into r from holdfast.runs t where t.session_id = s.id and t.run_key = one;
    s := holdfast.append_last_responses_1(s, r, holdfast.newest_step_1(s.id, r.run_key, r.step), null);
    if r.run_key = r.invocation_id then
      -- Nobody worked on it between the last sign of life and now.
      s.busy_ms := s.busy_ms + holdfast.ms_between_1(r.created_at, last_sign);
    end if;
    perform holdfast.cancel_requests_1(s.id, r.invocation_id, r.run_key, null);
    update holdfast.runs t set status = 'interrupted', last_seq = s.last_seq, temp = '{}',
        ended_at = clock_timestamp(),
        outcome = ('{"status":"interrupted","usage":' || holdfast.used_by_1(s.id, r.invocation_id) || '}')::json
      where t.session_id = s.id and t.run_key = r.run_key;
  end loop;
end $$;

-- Ends what other invocations left running.
create or replace function holdfast.heal_1(inout s holdfast.sessions, invocation text) language plpgsql as $$
declare
  broken text[] := array(
    select t.run_key from holdfast.runs t
    where t.session_id = s.id and t.status = 'running' and t.invocation_id <> invocation
    order by t.first_seq, t.run_key);
  below text[] := array(
    select t.session_id from (select * from holdfast.runs a where a.caller_session = s.id offset 0) t
    where t.status = 'running' and t.caller_invocation <> invocation order by t.session_id);
begin
  if broken <> '{}' or below <> '{}' then
    s := holdfast.interrupt_runs_1(s, broken, below);
  end if;
end $$;

-- Ends runs of a session that have ended without a word, and what they have left running. Those of a newer chain go on.
create function holdfast.end_lost_runs_1(session text, lost text[], started_at bigint, number int) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  broken text[];
begin
  select * into s from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  broken := array(
    with recursive gone as (
      select t.run_key, t.first_seq from holdfast.runs t where t.session_id = session and t.run_key = any (lost)
      union
      select c.run_key, c.first_seq from gone g join holdfast.runs c on c.planned_by = g.run_key and c.session_id = session
    )
    select t.run_key from gone g join holdfast.runs t on t.session_id = session and t.run_key = g.run_key
    where t.status = 'running' and (t.fence_started_at, t.fence_invocation) <= (started_at, number)
    order by t.first_seq, t.run_key);
  if broken = '{}' then
    return;
  end if;
  s := holdfast.interrupt_runs_1(s, broken, array(
    select t.session_id from (select * from holdfast.runs a where a.caller_session = session offset 0) t
    where t.status = 'running' and t.caller_run = any (broken) order by t.session_id));
  perform holdfast.save_session_1(s);
end $$;

-- What the agent of a call has come to. Null where it has never begun.
create function holdfast.end_child_1(caller text, run text) returns json language plpgsql as $$
declare
  child text := (
    select t.session_id from holdfast.runs t
    where t.caller_session = caller and t.run_key = run and t.invocation_id = run);
  r holdfast.runs;
begin
  if child is null then
    return null;
  end if;
  select * into r from holdfast.runs t where t.session_id = child and t.run_key = run;
  if r.status = 'running' then
    perform holdfast.end_called_1(child);
    select * into r from holdfast.runs t where t.session_id = child and t.run_key = run;
  end if;
  return (
    select json_build_object('session', s.id, 'outcome', r.outcome,
      'stateDelta', holdfast.difference_1(s.initial, s.state),
      'content', (
        select e.body -> 'content' from holdfast.events e
        where e.session_id = s.id and e.kind <> 'message' and json_typeof(e.body #> '{content,parts}') = 'array'
          and json_array_length(e.body #> '{content,parts}') > 0
        order by e.seq desc limit 1))
    from holdfast.sessions s where s.id = child);
end $$;

-- Sessions of called agents go with that of their root.
create function holdfast.forget_children_1() returns trigger language plpgsql as $$
declare
  one text;
  events bigint;
begin
  for one in
    select t.id from holdfast.sessions t where t.root_session = old.id order by t.created_at desc, t.id for update
  loop
    delete from holdfast.events t where t.session_id = one;
    get diagnostics events = row_count;
    delete from holdfast.ledger t where t.session_id = one;
    delete from holdfast.runs t where t.session_id = one;
    delete from holdfast.inbox t where t.session_id = one;
    delete from holdfast.approvals t where t.session_id = one;
    delete from holdfast.responses t where t.session_id = one;
    update holdfast.audit t set content = null, salt = null where t.session_id = one and t.content is not null;
    delete from holdfast.sessions t where t.id = one;
    perform holdfast.audit_1(one, 'deleted', json_build_object('events', events));
  end loop;
  return null;
end $$;
create trigger sessions_lose_children after delete on holdfast.sessions for each row
  when (old.root_session is null) execute function holdfast.forget_children_1();

-- What is answered of a job: people and programs know it by the session of its root.
create or replace function holdfast.job_1(j holdfast.jobs) returns json language sql stable as $$
  select json_build_object('job', j, 'names', (
    select json_build_array(n.app, n.user_id, n.name)
    from holdfast.sessions s join holdfast.sessions n on n.id = coalesce(s.root_session, s.id) where s.id = j.session_id))
$$;
`;
