-- Keeps a signature, and records what it came to. One that was refused may count when it comes again; any other stays as it is.
create or replace function holdfast.record_signed(session text, signed json, entry json) returns void language plpgsql as $$
declare
  of_request text := signed ->> 'requestId';
begin
  perform holdfast.lock_session(session);
  insert into holdfast.signatures as t (session_id, request_id, digest, n, at, came_at, says, principal, jws, key,
      signed_response, meant_response)
    select session, of_request, signed ->> 'digest', 1 + coalesce((
        select max(o.n) from holdfast.signatures o where o.session_id = session and o.request_id = of_request), 0),
      holdfast.now_ms(), (signed ->> 'cameAt')::bigint, signed ->> 'says', signed ->> 'principal', signed ->> 'jws',
      signed -> 'key', signed ->> 'signedResponse', signed ->> 'meantResponse'
    on conflict on constraint signatures_pkey do update set n = excluded.n, at = excluded.at, came_at = excluded.came_at,
        says = excluded.says, signed_response = excluded.signed_response, meant_response = excluded.meant_response
      where t.says = 'refused' and excluded.says <> 'refused';
  if entry is not null then
    perform holdfast.record_entry(session, entry);
  end if;
end $$;
