-- The session's own state, the app's, the user's, and the turn's `temp:` state, as readers put them together.
create or replace function holdfast.state_parts(own jsonb, of_app text, of_user text, temporary jsonb) returns json
language plpgsql stable as $$
begin
  return json_build_array(own,
    array(select json_build_array('app:' || t.key, t.value) from holdfast.app_state t where t.app_key = of_app),
    array(select json_build_array('user:' || t.key, t.value) from holdfast.user_state t where t.user_key = of_user),
    temporary);
end $$;
