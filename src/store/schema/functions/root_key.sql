-- The key of a session, which must be no agent's that a call has run.
create or replace function holdfast.root_key(of_key text) returns text language plpgsql stable as $$
declare
  called text := (select t.name from holdfast.sessions t where t.name_key = of_key and t.root_session is not null);
begin
  if called is not null then
    raise exception using errcode = 'HF005', message = format(
      'session %s is that of an agent which a tool has run: name the session of its root', called);
  end if;
  return of_key;
end $$;
