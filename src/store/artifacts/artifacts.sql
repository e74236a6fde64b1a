-- Whose artifact it is: the user's, or the session's. Agents that a tool has called share those of the session above them.
create or replace function holdfast.artifact_scope(s holdfast.sessions, name text) returns text language sql immutable as $$
  select case when starts_with(name, 'user:') then s.user_key else coalesce(s.root_session, s.id) end
$$;

create or replace function holdfast.next_artifact_version(of_scope text, of_name text) returns bigint language sql as $$
  insert into holdfast.artifacts as a (scope, name, next_version) values (of_scope, of_name, 1)
  on conflict (scope, name) do update set next_version = a.next_version + 1
  returning a.next_version - 1
$$;

-- The version that a call or a step saves as its nth of this name: the same one in each of its attempts. Nobody sees it before
-- the call settles, or the step commits.
create or replace function holdfast.reserve_artifact_version(session text, of_key text, of_name text, nth int) returns bigint
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
  kept jsonb;
  slot text := 'holdfast.artifact/' || nth || '/' || of_name;
begin
  select * into s from holdfast.sessions t where t.id = session;
  select coalesce(l.once, '{}') into kept from holdfast.ledger l where l.session_id = session and l.key = of_key for update;
  if s.id is null or kept is null then
    raise exception using errcode = 'HF002', message = format('%s was begun and is not in the store', of_key);
  end if;
  if not kept ? slot then
    kept := kept || jsonb_build_object(slot, holdfast.next_artifact_version(holdfast.artifact_scope(s, of_name), of_name));
    update holdfast.ledger l set once = kept where l.session_id = session and l.key = of_key;
  end if;
  return (kept ->> slot)::bigint;
end $$;

-- Records versions that a call or a step has saved. Their bytes are in use from now on.
create or replace function holdfast.add_artifact_versions(session text, of_key text, at_seq bigint, saved json) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
  s holdfast.sessions;
begin
  select * into s from holdfast.sessions t where t.id = session;
  perform holdfast.use_blobs(array(
    select distinct v ->> 'blob' from json_array_elements(saved) v where v ->> 'blob' is not null order by 1));
  insert into holdfast.artifact_versions
    (scope, name, version, kind, blob_id, mime_type, display_name, uri, metadata, session_id, saved_by, seq)
    select holdfast.artifact_scope(s, v.name), v.name, v.version, v.kind, v.blob, v."mimeType", v."displayName", v.uri, v.metadata,
      session, of_key, case when s.root_session is null then at_seq end
    from json_to_recordset(saved) as v(name text, version bigint, kind text, blob text, "mimeType" text, "displayName" text,
      uri text, metadata json)
    on conflict do nothing;
end $$;

create or replace function holdfast.use_blobs(ids text[]) returns void language plpgsql as $$
declare
  used int;
begin
  perform from holdfast.blobs b where b.id = any (ids) order by b.id for update;
  update holdfast.blobs b set used_until = 'infinity' where b.id = any (ids) and not b.given_up and b.sha256 is not null;
  get diagnostics used = row_count;
  if used < cardinality(ids) then
    raise exception using errcode = 'HF006', message = 'bytes of an artifact were collected before its version was recorded';
  end if;
end $$;

-- Saves a version outside of calls and steps, such as an upload. `saved_by` makes it one save, however often it is sent. Null where
-- there is no such session.
create or replace function holdfast.save_artifact(args json) returns bigint language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
  of_scope text;
  kept bigint;
begin
  select * into a from json_to_record(args) as t(
    name_key text, user_key text, make json, name text, saved_by text, kind text, blob text, mime_type text, display_name text, uri text,
    metadata json);
  if a.make is not null and not starts_with(a.name, 'user:') then
    s := holdfast.make_session(a.name_key, a.make);
  else
    select * into s from holdfast.sessions t where t.name_key = a.name_key for share;
  end if;
  of_scope := case when starts_with(a.name, 'user:') then a.user_key else s.id end;
  if of_scope is null then
    return null;
  end if;
  -- One save of a name at a time, so that a repeated one finds the first.
  kept := holdfast.next_artifact_version(of_scope, a.name);
  if a.saved_by is not null then
    declare
      first bigint;
    begin
      select v.version into first from holdfast.artifact_versions v
        where v.scope = of_scope and v.name = a.name and v.saved_by = a.saved_by;
      if found then
        update holdfast.artifacts t set next_version = kept where t.scope = of_scope and t.name = a.name;
        return first;
      end if;
    end;
  end if;
  if a.blob is not null then
    perform holdfast.use_blobs(array[a.blob]);
  end if;
  insert into holdfast.artifact_versions
    (scope, name, version, kind, blob_id, mime_type, display_name, uri, metadata, session_id, saved_by, seq)
    values (of_scope, a.name, kept, a.kind, a.blob, a.mime_type, a.display_name, a.uri, a.metadata, s.id, a.saved_by, s.last_seq);
  return kept;
end $$;

-- How many versions there were. Numbers of versions are not used again.
create or replace function holdfast.delete_artifact(of_scope text, of_name text) returns int language plpgsql as $$
declare
  gone text[];
begin
  with deleted as (
    delete from holdfast.artifact_versions v where v.scope = of_scope and v.name = of_name returning v.blob_id, v.kind
  ) select array_agg(d.blob_id) into gone from deleted d;
  perform holdfast.unuse_blobs(gone);
  return coalesce(cardinality(gone), 0);
end $$;

-- With their names: nobody saves another version of them.
create or replace function holdfast.delete_artifacts(of_scope text) returns void language plpgsql as $$
declare
  gone text[];
begin
  delete from holdfast.artifacts a where a.scope = of_scope;
  if found then
    with deleted as (
      delete from holdfast.artifact_versions v where v.scope = of_scope returning v.blob_id
    ) select array_agg(d.blob_id) into gone from deleted d;
    perform holdfast.unuse_blobs(gone);
  end if;
end $$;

-- Bytes that a version has used; another one may use them still.
create or replace function holdfast.unuse_blobs(ids text[]) returns void language sql as $$
  update holdfast.blobs b set used_until = clock_timestamp() where b.id in (
    select t.id from holdfast.blobs t where t.id = any (ids) order by t.id for update)
$$;

-- A fork has what its parent had by then.
create or replace function holdfast.fork_artifacts(parent text, at_seq bigint, session text) returns void language plpgsql as $$
#variable_conflict use_variable
begin
  perform holdfast.use_blobs(array(
    select distinct v.blob_id from holdfast.artifact_versions v
    where v.scope = parent and v.seq <= at_seq and v.blob_id is not null order by 1));
  insert into holdfast.artifact_versions (scope, name, version, kind, blob_id, mime_type, display_name, uri, metadata, session_id,
      saved_by, seq, created_at)
    select session, v.name, v.version, v.kind, v.blob_id, v.mime_type, v.display_name, v.uri, v.metadata, v.session_id, v.saved_by,
      v.seq, v.created_at
    from holdfast.artifact_versions v where v.scope = parent and v.seq <= at_seq
    on conflict do nothing;
  insert into holdfast.artifacts (scope, name, next_version)
    select session, v.name, max(v.version) + 1 from holdfast.artifact_versions v where v.scope = session group by v.name
    on conflict do nothing;
end $$;

-- Artifacts are again what they were at a seq: each that has changed since gets a new version. Answers these by name.
create or replace function holdfast.rewind_artifacts(s holdfast.sessions, after bigint, at_seq bigint) returns jsonb
language plpgsql as $$
declare
  changed record;
  was holdfast.artifact_versions;
  delta jsonb := '{}';
begin
  for changed in
    select v.name from holdfast.artifact_versions v where v.scope = s.id and v.seq > after group by v.name order by v.name
  loop
    select * into was from holdfast.artifact_versions v
      where v.scope = s.id and v.name = changed.name and v.seq <= after order by v.version desc limit 1;
    was.scope := s.id;
    was.name := changed.name;
    was.version := holdfast.next_artifact_version(s.id, changed.name);
    was.session_id := s.id;
    was.saved_by := null;
    was.seq := at_seq;
    was.created_at := clock_timestamp();
    insert into holdfast.artifact_versions select was.*;
    delta := delta || jsonb_build_object(changed.name, was.version);
  end loop;
  return delta;
end $$;
