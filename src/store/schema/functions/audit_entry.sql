-- The time is part of what an entry is known by: a workflow that was reset gives its entries' ids again. False where it is there.
create or replace function holdfast.audit_entry(session text, entry json, response json, shown_args json, sensitive json)
returns boolean language plpgsql as $$
declare
  content text := concat_ws(',', '"reason":' || (entry -> 'reason'), '"response":' || response,
    '"payload":' || (entry -> 'payload'));
begin
  if (entry -> 'args') is not null then
    content := concat_ws(',', nullif(content, ''), '"before":' || holdfast.shown_args(shown_args, sensitive),
      '"after":' || holdfast.shown_args(entry -> 'args', sensitive));
  end if;
  return holdfast.append_audit(session, entry ->> 'kind',
    concat_ws(',', '"at":' || (entry -> 'at'), '"attestation":' || (entry #> '{by,attestation}'),
      '"by":' || (entry #> '{by,principal}'), '"channel":' || (entry #> '{by,channel}'),
      '"confirmed":' || (entry -> 'confirmed')),
    concat_ws(',', '"credentialRef":' || (entry -> 'credentialRef'), '"entryId":' || (entry -> 'entryId'),
      '"requestId":' || (entry -> 'requestId'), '"responseRef":' || (entry -> 'responseRef'),
      '"verified":' || (entry #> '{by,verified}')),
    '{' || nullif(content, '') || '}', (entry ->> 'entryId') || '@' || (entry ->> 'at'));
end $$;
