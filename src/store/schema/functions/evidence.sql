-- The requests of a call, in order, with their signatures. `now` is the store's time.
create or replace function holdfast.evidence(session text, of_key text) returns json language sql stable as $$
  select json_build_object(
    'names', (select json_build_array(s.app, s.user_id, s.name) from holdfast.sessions s where s.id = session),
    'requests', coalesce((
      select json_agg(q order by length(q.request_id), q.request_id) from holdfast.requests_of_call(session, of_key) q
    ), '[]'),
    'signatures', coalesce((
      select json_agg(g order by g.request_id, g.n) from holdfast.signatures g
      where g.session_id = session
        and g.request_id in (select q.request_id from holdfast.requests_of_call(session, of_key) q)
    ), '[]'),
    'now', holdfast.now_ms(),
    'stamp', holdfast.evidence_stamp(session, of_key))
$$;
