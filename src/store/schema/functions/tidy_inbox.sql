-- What nobody comes for: uploads that were never sent, notes beyond the newest.
create or replace function holdfast.tidy_inbox(session text) returns void language plpgsql as $$
begin
  delete from holdfast.inbox i where i.session_id = session and i.status = 'uploaded'
    and i.created_at < clock_timestamp() - interval '30 days';
  delete from holdfast.inbox i where i.session_id = session and i.invocation_id in (
    select n.invocation_id from holdfast.inbox n where n.session_id = session and n.status = 'rejected'
    order by n.created_at desc offset 100);
end $$;
