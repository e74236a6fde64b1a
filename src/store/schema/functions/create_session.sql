-- Null where another session has the name. One that was made by this call before is there already.
create or replace function holdfast.create_session(args json) returns json language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
begin
  select * into a from json_to_record(args) as t(
    session text, name_key text, app_key text, user_key text, app text, user_id text, name text, state jsonb);
  insert into holdfast.sessions as t (id, name_key, app_key, user_key, app, user_id, name)
    values (a.session, a.name_key, a.app_key, a.user_key, a.app, a.user_id, a.name)
    on conflict do nothing
    returning * into s;
  if s.id is not null then
    s.state := holdfast.apply_delta(s, '', a.state);
    if s.state <> '{}' then
      update holdfast.sessions t set state = s.state, initial = s.state where t.id = a.session;
    end if;
    perform holdfast.audit(a.session, 'created', '{}');
  elsif not exists (select from holdfast.sessions t where t.id = a.session) then
    return null;
  end if;
  return holdfast.get_session(a.name_key, 0, null, 0);
end $$;
