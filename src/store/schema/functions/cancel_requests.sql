-- Of a run, and of all children's where it is an invocation; only those of the given calls, where there are any given.
create or replace function holdfast.cancel_requests(session text, invocation text, run text, keys text[]) returns void
language plpgsql as $$
declare
  of_request text;
begin
  for of_request in
    select q.request_id from holdfast.approvals q
    where q.session_id = session and q.status = 'pending'
      and (q.run_key = run or run = invocation and q.invocation_id = invocation)
      and (keys is null or q.call_key = any (keys))
    order by q.request_id
  loop
    perform holdfast.record_entry(session, json_build_object('entryId', of_request || '/cancelled',
      'requestId', of_request, 'kind', 'cancelled', 'at', holdfast.now_ms()));
  end loop;
end $$;
