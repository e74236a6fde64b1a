-- What is answered of a job: people and programs know it by the session of its root.
create or replace function holdfast.job(j holdfast.jobs) returns json language sql stable as $$
  select json_build_object('job', j, 'names', (
    select json_build_array(n.app, n.user_id, n.name)
    from holdfast.sessions s join holdfast.sessions n on n.id = coalesce(s.root_session, s.id) where s.id = j.session_id))
$$;
