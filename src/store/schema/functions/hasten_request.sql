-- As if the request had waited for its time: for tests.
create or replace function holdfast.hasten_request(session text, of_request text) returns void language sql as $$
  update holdfast.approvals t set since = t.since - coalesce((t.terms ->> 'expiresIn')::float8::bigint, 0)
    where t.request_id = of_request and t.session_id = session and t.status = 'pending'
$$;
