-- A session that was not found by its name_key, locked like one that was; another transaction may have made it meanwhile.
create or replace function holdfast.make_session(args json) returns holdfast.sessions language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
begin
  select * into a from json_to_record(args) as t(
    session text, name_key text, app_key text, user_key text, app text, user_id text, name text);
  -- Again where that one is deleted in between.
  loop
    insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
      values (a.session, a.name_key, a.app_key, a.user_key, a.app, a.user_id, a.name)
      on conflict on constraint sessions_name_key_key do nothing
      returning * into s;
    exit when found;
    select * into s from holdfast.sessions t where t.name_key = a.name_key for update;
    exit when found;
  end loop;
  return s;
end $$;
