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
