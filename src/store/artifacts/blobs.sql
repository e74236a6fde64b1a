-- Keeps small bytes whose hash is known. Answers the id of the blob that has them.
create or replace function holdfast.put_blob(new_id text, of_app text, digest text, content bytea, unused_for double precision)
returns text language plpgsql as $$
declare
  kept text;
begin
  insert into holdfast.blobs as b (id, app_key, sha256, size, block_digests, used_until)
    -- Of one block the digest is that of all bytes.
    values (new_id, of_app, digest, length(content), decode(digest, 'hex'), clock_timestamp() + unused_for * interval '1 millisecond')
    on conflict (app_key, sha256) where sha256 is not null do update set used_until = greatest(b.used_until, excluded.used_until)
    returning b.id into kept;
  if kept = new_id then
    insert into holdfast.blob_blocks (blob_id, nth, bytes) values (new_id, 0, content) on conflict do nothing;
  end if;
  return kept;
end $$;

-- The blob of an app with these bytes, kept for as long as bytes that nobody uses are. Null where there is none.
create or replace function holdfast.claim_blob(of_app text, digest text, unused_for double precision) returns text
language sql as $$
  update holdfast.blobs b set used_until = greatest(b.used_until, clock_timestamp() + unused_for * interval '1 millisecond')
  where b.app_key = of_app and b.sha256 = digest
  returning b.id
$$;

-- The bytes are written whole. Where the app has them already they are given up, and the answer is the id of the others. Null
-- where the blob is gone.
create or replace function holdfast.finish_blob(of_id text, digest text, bytes bigint, digests bytea, unused_for double precision)
returns text language plpgsql as $$
declare
  b holdfast.blobs;
  other text;
begin
  loop
    select * into b from holdfast.blobs t where t.id = of_id for update;
    if not found or b.given_up then
      return null;
    end if;
    if b.sha256 is not null then
      return b.id;
    end if;
    other := holdfast.claim_blob(b.app_key, digest, unused_for);
    if other is not null then
      update holdfast.blobs t set given_up = true, used_until = clock_timestamp() where t.id = of_id;
      return other;
    end if;
    begin
      update holdfast.blobs t set sha256 = digest, size = bytes, block_digests = digests,
          used_until = clock_timestamp() + unused_for * interval '1 millisecond'
        where t.id = of_id;
      exit;
    exception when unique_violation then
      -- Somebody has finished the same bytes just now.
    end;
  end loop;
  return of_id;
end $$;

-- Bytes that waiting calls of an app have saved: versions use them once their calls settle.
create or replace function holdfast.held_blobs(of_app text) returns setof text language sql stable as $$
  select v ->> 'blob' from (
    select j.session_id, j.call_key from holdfast.jobs j where j.app_key = of_app and j.status = 'running'
    union
    select a.session_id, a.call_key from holdfast.approvals a where a.app_key = of_app and a.status = 'pending'
  ) w
  join holdfast.ledger l on l.session_id = w.session_id and l.key = w.call_key and l.status <> 'settled'
  cross join lateral jsonb_array_elements(
    coalesce(l.prepared -> 'artifacts', '[]') || coalesce(l.once #> '{holdfast:job,actions,artifacts}', '[]')) v
$$;

-- Gives up bytes that no version uses, and answers them: the caller removes them, and then drops them. They are answered
-- again after `again_after` milliseconds as long as they are there.
create or replace function holdfast.give_up_blobs(at_most int, again_after double precision)
returns table (id text, bucket text) language plpgsql as $$
declare
  due text[];
begin
  -- A call whose wait is over has a day left to settle.
  update holdfast.blobs b set used_until = clock_timestamp() + interval '7 days' where b.id in (
    select t.id from (select distinct d.app_key from holdfast.blobs d where d.used_until < clock_timestamp() + interval '1 day') a
    cross join lateral holdfast.held_blobs(a.app_key) h (id)
    join holdfast.blobs t on t.id = h.id and t.used_until < clock_timestamp() + interval '1 day' and not t.given_up
    for update of t skip locked);
  -- Versions that come and go lock their blobs too: by the next statement nobody changes that.
  due := array(select b.id from holdfast.blobs b where b.used_until < clock_timestamp() order by b.used_until limit at_most
    for update skip locked);
  update holdfast.blobs b set used_until = 'infinity'
    where b.id = any (due) and exists (select from holdfast.artifact_versions v where v.blob_id = b.id);
  return query
    update holdfast.blobs b set sha256 = null, given_up = true,
        used_until = clock_timestamp() + again_after * interval '1 millisecond'
      where b.id = any (due) and b.used_until < 'infinity'
      returning b.id, b.bucket;
end $$;

-- The bytes of a blob that was given up, or is not whole, are removed.
create or replace function holdfast.drop_blob(of_id text) returns void language plpgsql as $$
begin
  delete from holdfast.blobs b where b.id = of_id and b.sha256 is null;
  if found then
    delete from holdfast.blob_blocks t where t.blob_id = of_id;
  end if;
end $$;
