-- Writes what a state delta has of the app, the user and the invocation, and returns what it has of the session. Keys of `temp:`
-- that are Holdfast's own go no further.
create or replace function holdfast.apply_delta(s holdfast.sessions, invocation text, delta jsonb) returns jsonb
language plpgsql as $$
declare
  own jsonb;
  scratch jsonb;
begin
  select coalesce(jsonb_object_agg(d.key, d.value) filter (where d.key !~ '^(app|user|temp):'), '{}'),
         jsonb_object_agg(d.key, d.value) filter (where d.key like 'temp:%' and d.key !~* '^temp:_?holdfast_')
    into own, scratch from jsonb_each(delta) d;
  insert into holdfast.app_state as a (app_key, key_digest, app, key, value)
    select s.app_key, sha256(convert_to(d.key, 'UTF8')), s.app, substr(d.key, 5), d.value
    from jsonb_each(delta) d where d.key like 'app:%' order by 2
    on conflict (app_key, key_digest) do update set value = excluded.value;
  insert into holdfast.user_state as u (user_key, key_digest, app, user_id, key, value)
    select s.user_key, sha256(convert_to(d.key, 'UTF8')), s.app, s.user_id, substr(d.key, 6), d.value
    from jsonb_each(delta) d where d.key like 'user:%' order by 2
    on conflict (user_key, key_digest) do update set value = excluded.value;
  if scratch is not null then
    update holdfast.runs r set temp = r.temp || scratch
      where r.session_id = s.id and r.run_key = invocation and r.status = 'running';
  end if;
  return own;
end $$;
