-- Keeps memories of a session's events, each once, and up to which event they were read. False where the session is gone. A rewind may have
-- hidden some of the events meanwhile.
create or replace function holdfast.remember_events(args json) returns boolean language plpgsql as $$
declare
  a record;
  s holdfast.sessions;
begin
  select * into a from json_to_record(args) as t(session text, seq bigint, memories json);
  select * into s from holdfast.sessions t where t.id = a.session for no key update;
  if s.id is null then
    return false;
  end if;
  insert into holdfast.memories (app_key, user_key, session_id, seq, source, author, content, said_at, terms, words, embedded_by, embedding)
    select s.app_key, s.user_key, s.id, m.seq, s.id || '/' || m.seq || '/' || m.nth, m.author, m.content, to_timestamp(m.said_at / 1000),
      array_to_tsvector(m.terms || ('@' || s.user_key)), m.words, m.embedded_by, m.embedding
    from json_to_recordset(a.memories) as m(seq bigint, nth int, author text, content json, said_at float8, terms text[], words int,
      embedded_by text, embedding real[])
    -- What was read before may have been deleted since.
    where m.seq > s.remembered_seq and not exists (
      select from holdfast.events e where e.session_id = s.id and e.seq > m.seq and e.hides_after < m.seq
    )
    on conflict do nothing;
  update holdfast.sessions t set remembered_seq = a.seq where t.id = s.id and t.remembered_seq < a.seq;
  return true;
end $$;

-- Adds memories of a user, each once by its source, where the last one stays, and returns their ids in order.
create or replace function holdfast.add_memories(args json) returns json language plpgsql as $$
declare
  a record;
begin
  select * into a from json_to_record(args) as t(app_key text, user_key text, memories json);
  insert into holdfast.memories (app_key, user_key, source, author, content, metadata, said_at, terms, words, embedded_by, embedding)
    select distinct on (m.source) a.app_key, a.user_key, m.source, m.author, m.content, m.metadata, to_timestamp(m.said_at / 1000),
      array_to_tsvector(m.terms || ('@' || a.user_key)), m.words, m.embedded_by, m.embedding
    from rows from (json_to_recordset(a.memories) as (source text, author text, content json, metadata json, said_at float8, terms text[],
      words int, embedded_by text, embedding real[])) with ordinality
      m (source, author, content, metadata, said_at, terms, words, embedded_by, embedding, nth)
    order by m.source, m.nth desc
    on conflict (user_key, source) do update set author = excluded.author, content = excluded.content, metadata = excluded.metadata,
      said_at = excluded.said_at, terms = excluded.terms, words = excluded.words, embedded_by = excluded.embedded_by,
      embedding = excluded.embedding;
  return (
    select json_agg(t.id::text order by m.nth)
    from rows from (json_to_recordset(a.memories) as (source text)) with ordinality m (source, nth)
    join holdfast.memories t on t.user_key = a.user_key and t.source = m.source
  );
end $$;
