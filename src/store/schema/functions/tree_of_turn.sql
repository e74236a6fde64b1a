-- Of an agent that another one has run: what the whole tree has used in its turn, and its root, where that has another session.
create or replace function holdfast.tree_of_turn(s holdfast.sessions, invocation text, began boolean) returns json
language plpgsql stable as $$
declare
  root holdfast.sessions;
  turn holdfast.runs;
begin
  select * into turn from holdfast.runs t
    where t.session_id = coalesce(s.root_session, s.id) and t.run_key = coalesce(s.root_run, invocation);
  select * into root from holdfast.sessions t where t.id = s.root_session;
  return json_build_object('began', began, 'usage', holdfast.usage_columns(turn),
    'age', holdfast.ms_between(turn.created_at, clock_timestamp()),
    'sessionUsage', case when root.id is not null then holdfast.session_usage_columns(root) end,
    'root', case when root.id is not null then json_build_object('session', root.id,
      'names', json_build_object('app', root.app, 'userId', root.user_id, 'sessionId', root.name)) end);
end $$;
