-- The session of an agent that a call runs, locked: it begins with a copy of its caller's state, without what is kept for others.
create or replace function holdfast.called_session(args json) returns holdfast.sessions language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  c holdfast.sessions;
  of_run holdfast.runs;
begin
  select * into a from json_to_record(args) as t(
    session text, name_key text, name text, caller text, calling_run text, of_call text, path json);
  s := holdfast.make_session(a.name_key, args);
  if (s.caller_session, s.caller_run, s.call_key) = (a.caller, a.calling_run, a.of_call) then
    return s;
  end if;
  if s.id <> a.session then
    raise exception using errcode = 'HF005', message = format('session %s is not that of the call %s', a.name, a.of_call);
  end if;
  select * into c from holdfast.sessions t where t.id = a.caller for key share;
  select * into of_run from holdfast.runs t where t.session_id = a.caller and t.run_key = a.calling_run;
  if c.id is null or of_run.run_key is null then
    raise exception using errcode = 'HF002',
      message = format('run %s, whose call runs an agent, is not in the store', a.calling_run);
  end if;
  update holdfast.sessions t set state = d.own, initial = d.own, caller_session = a.caller, caller_run = a.calling_run,
      call_key = a.of_call, agent_path = a.path, root_session = coalesce(c.root_session, c.id),
      root_run = coalesce(c.root_run, of_run.invocation_id)
    from (
      select coalesce(jsonb_object_agg(k.key, k.value) filter (where k.key not like '\_adk%'), '{}') as own
      from jsonb_each(c.state) k) d
    where t.id = s.id
    returning t.* into s;
  return s;
end $$;

-- Ends all that is left running in the session of a called agent.
create or replace function holdfast.end_called(called text) returns void language plpgsql as $$
declare
  s holdfast.sessions;
begin
  select * into s from holdfast.sessions t where t.id = called for update;
  if found then
    s := holdfast.heal(s, '');
    perform holdfast.save_session(s);
  end if;
end $$;

-- The outcome of a call's agent. Null where it has never begun.
create or replace function holdfast.end_child(caller text, run text) returns json language plpgsql as $$
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
    perform holdfast.end_called(child);
    select * into r from holdfast.runs t where t.session_id = child and t.run_key = run;
  end if;
  return (
    select json_build_object('session', s.id, 'outcome', r.outcome,
      'stateDelta', holdfast.difference(s.initial, s.state),
      'artifactDelta', (
        select json_object_agg(d.name, d.version)
        from (
          select a.key as name, max(a.value::bigint) as version
          from holdfast.events e cross join lateral json_each_text(e.body #> '{actions,artifactDelta}') a
          where e.session_id = s.id group by a.key) d),
      'content', (
        select e.body -> 'content' from holdfast.events e
        where e.session_id = s.id and e.kind <> 'message' and json_typeof(e.body #> '{content,parts}') = 'array'
          and json_array_length(e.body #> '{content,parts}') > 0
        order by e.seq desc limit 1))
    from holdfast.sessions s where s.id = child);
end $$;

-- Of an agent that another one has run: what the whole tree has used in its turn, and its root, where that has another session.
create or replace function holdfast.tree_of_turn(s holdfast.sessions, invocation text, began boolean) returns json
language plpgsql stable as $$
declare
  root holdfast.sessions;
  turn holdfast.runs;
begin
  select * into turn from holdfast.runs t
    where t.session_id = coalesce(s.root_session, s.id) and t.run_key = coalesce(s.root_run, invocation);
  select * into root from holdfast.sessions t where t.id = s.root_session;
  return json_build_object('began', began, 'usage', holdfast.usage_columns(turn),
    'age', holdfast.ms_between(turn.created_at, clock_timestamp()),
    'sessionUsage', case when root.id is not null then holdfast.session_usage_columns(root) end,
    'root', case when root.id is not null then json_build_object('session', root.id,
      'names', json_build_object('app', root.app, 'userId', root.user_id, 'sessionId', root.name)) end);
end $$;

-- The delta between two states; a key that the second one lacks becomes null.
create or replace function holdfast.difference(present jsonb, past jsonb) returns jsonb
language plpgsql immutable parallel safe as $$
begin
  return coalesce((
    select jsonb_object_agg(k.key, coalesce(past -> k.key, 'null'))
    from jsonb_object_keys(present || past) k (key)
    where coalesce(present -> k.key, 'null') <> coalesce(past -> k.key, 'null')
  ), '{}');
end $$;
