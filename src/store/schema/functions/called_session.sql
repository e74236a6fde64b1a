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
