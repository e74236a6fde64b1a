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
