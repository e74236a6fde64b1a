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
    select * into s from holdfast.sessions t where t.name_key = of_name for update;
    if not found then
      s := holdfast.make_session(args);
    end if;
    return s;
  end if;
  select * into s from holdfast.sessions t where t.id = session for update;
  if not found then
    raise exception using errcode = 'HF002', message = 'the session of this turn is not in the store';
  end if;
  return s;
end $$;
