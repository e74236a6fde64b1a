-- A row of the audit without content that could be dropped.
create or replace function holdfast.audit(session text, kind text, facts json) returns void language plpgsql as $$
begin
  perform holdfast.append_audit(session, kind, (
    select string_agg(to_json(f.key)::text || ':' || f.value, ',' order by f.key collate "C") from json_each(facts) f
  ), null, null, null);
end $$;

-- A row whose content can be dropped: only a digest of it is in the chain, salted, so that it can't be guessed from there. Facts
-- are JSON of members, in order of their names: those before `contentDigest`, and those after it. The hash is of the text
-- [hash before, session, n, at, kind, facts] in canonical JSON. False where the entry is there.
create or replace function holdfast.append_audit(session text, kind text, head text, tail text, content text, of_entry text)
returns boolean language plpgsql as $$
#variable_conflict use_variable
declare
  now timestamptz := date_trunc('milliseconds', clock_timestamp());
  salt text := case when content is not null then replace(gen_random_uuid()::text, '-', '') end;
  facts text := '{' || concat_ws(',', nullif(head, ''), '"contentDigest":"'
    || encode(sha256(convert_to(salt || content, 'UTF8')), 'hex') || '"', nullif(tail, '')) || '}';
begin
  insert into holdfast.audit (session_id, n, at, kind, facts, hash, content, salt, entry)
    select session, before.n + 1, now, kind, facts::json, encode(sha256(convert_to(
        '[' || to_json(before.hash) || ',' || to_json(session) || ',' || before.n + 1
          || ',' || (extract(epoch from now) * 1000)::bigint || ',' || to_json(kind) || ',' || facts || ']', 'UTF8')), 'hex'),
      content::json, salt, of_entry
    from (
      (select a.n, a.hash from holdfast.audit a where a.session_id = session order by a.n desc limit 1)
      union all select 0, '' limit 1
    ) before
    on conflict (entry, session_id) where entry is not null do nothing;
  return found;
end $$;

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
