-- By the call alone: the index of the session would do, too, and read all of its requests.
create or replace function holdfast.requests_of_call(session text, of_key text) returns setof holdfast.approvals
language sql stable as $$
  select * from (select * from holdfast.approvals t where t.call_key = of_key offset 0) q where q.session_id = session
$$;
