-- The session of a name, locked, which must be no agent's that a call has run. Null where there is none.
create or replace function holdfast.lock_root(of_key text) returns holdfast.sessions language plpgsql as $$
declare
  s holdfast.sessions;
begin
  select * into s from holdfast.sessions t where t.name_key = holdfast.root_key(of_key) for update;
  return s;
end $$;
