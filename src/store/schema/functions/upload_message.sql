-- Keeps the content of a message that is to be sent. One that waits, or has begun a turn, stays as it is.
create or replace function holdfast.upload_message(args json) returns void language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
begin
  select * into a from json_to_record(args) as t(
    name_key text, message_id text, invocation text, digest text, bytes bigint, message json, delta json);
  s := holdfast.make_session(a.name_key, args);
  if exists (select from holdfast.runs r where r.session_id = s.id and r.run_key = a.invocation) then
    return;
  end if;
  insert into holdfast.inbox as i (session_id, invocation_id, message_id, status, digest, bytes, message, state_delta)
    values (s.id, a.invocation, a.message_id, 'uploaded', a.digest, a.bytes, a.message, a.delta)
    on conflict on constraint inbox_pkey do update set status = excluded.status, digest = excluded.digest,
      bytes = excluded.bytes, message = excluded.message, state_delta = excluded.state_delta, reason = null,
      created_at = excluded.created_at
      where i.status <> 'waiting';
  perform holdfast.tidy_inbox(s.id);
  update holdfast.sessions t set updated_at = clock_timestamp() where t.id = s.id;
end $$;
