-- The session of a name, locked. It is made of `args` where it is missing; another transaction may make it, or delete it, meanwhile.
create or replace function holdfast.make_session(of_name text, args json) returns holdfast.sessions language plpgsql as $$
declare
  s holdfast.sessions;
begin
  loop
    select * into s from holdfast.sessions t where t.name_key = of_name for update;
    exit when found;
    insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
      select a.session, of_name, a.app_key, a.user_key, a.app, a.user_id, a.name from json_to_record(args)
        as a(session text, app_key text, user_key text, app text, user_id text, name text)
      on conflict on constraint sessions_name_key_key do nothing
      returning * into s;
    exit when found;
  end loop;
  return s;
end $$;
