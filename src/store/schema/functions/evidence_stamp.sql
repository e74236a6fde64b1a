-- Equal as long as nothing has changed of what the requests of a call, and their signatures, prove.
create or replace function holdfast.evidence_stamp(session text, of_key text) returns text language sql stable as $$
  select coalesce(string_agg(concat_ws('/', q.request_id, q.status, (
      select count(*) from holdfast.signatures g
      where g.session_id = session and g.request_id = q.request_id and g.says <> 'refused'
    )), ',' order by q.request_id), '')
  from holdfast.requests_of_call(session, of_key) q
$$;
