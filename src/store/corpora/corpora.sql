-- Keeps passages of a version of a document, each once. With the last ones, which say how many there are in all, it takes the place of the
-- version before. False where it isn't whole: more are to come, or somebody has removed what came before.
create or replace function holdfast.put_passages(args json) returns boolean language plpgsql as $$
declare
  a record;
  c bigint;
  d holdfast.corpus_documents;
begin
  select * into a from json_to_record(args) as t(app_key text, corpus text, path text, digest text, title text, passages json, total int);
  -- One after another: the row is locked.
  insert into holdfast.corpora as t (app_key, name) values (a.app_key, a.corpus)
    on conflict (app_key, name) do update set updated_at = clock_timestamp() returning t.id into c;
  insert into holdfast.corpus_documents as t (corpus_id, path, digest, title) values (c, a.path, a.digest, a.title)
    on conflict (corpus_id, path, digest) do update set title = coalesce(excluded.title, t.title) returning * into d;
  if d.loaded then
    return true;
  end if;
  with added as (
    insert into holdfast.corpus_passages (document_id, nth, text, line, page, terms, words, embedded_by, embedding)
      select d.id, p.nth, p.text, p.line, p.page, array_to_tsvector(p.terms || ('@' || c)), p.words, p.embedded_by, p.embedding
      from json_to_recordset(a.passages) as p(nth int, text text, line int, page int, terms text[], words int, embedded_by text,
        embedding real[])
      on conflict do nothing returning terms, words
  ), counted as (
    insert into holdfast.corpus_terms as t (corpus_id, term, passages)
      select c, u.lexeme, count(*) from added p cross join unnest(p.terms) u where u.lexeme not like '@%' group by u.lexeme
      on conflict (corpus_id, term) do update set passages = t.passages + excluded.passages
  )
  update holdfast.corpora t set passages = t.passages + n.passages, words = t.words + n.words
    from (select count(*) as passages, coalesce(sum(p.words), 0) as words from added p) n where t.id = c;
  if a.total is null or a.total <> (select count(*) from holdfast.corpus_passages p where p.document_id = d.id) then
    return false;
  end if;
  perform holdfast.drop_documents(c, array(
    select t.id from holdfast.corpus_documents t where t.corpus_id = c and t.path = a.path and t.id <> d.id
  ));
  update holdfast.corpus_documents t set loaded = true, passages = a.total where t.id = d.id;
  return true;
end $$;

-- The caller has locked the corpus.
create or replace function holdfast.drop_documents(c bigint, ids bigint[]) returns void language plpgsql as $$
begin
  with gone as (
    delete from holdfast.corpus_passages p where p.document_id = any (ids) returning p.terms, p.words
  ), counted as (
    update holdfast.corpus_terms t set passages = t.passages - n.passages
      from (select u.lexeme, count(*) as passages from gone g cross join unnest(g.terms) u group by u.lexeme) n
      where t.corpus_id = c and t.term = n.lexeme
  )
  update holdfast.corpora t set passages = t.passages - n.passages, words = t.words - n.words, updated_at = clock_timestamp()
    from (select count(*) as passages, coalesce(sum(g.words), 0) as words from gone g) n where t.id = c;
  delete from holdfast.corpus_documents d where d.id = any (ids);
end $$;

-- Removes some documents of a corpus, or those of a path, and answers how many; the corpus goes with its last one.
create or replace function holdfast.remove_documents(args json) returns int language plpgsql as $$
declare
  a record;
  c bigint;
  ids bigint[];
begin
  select * into a from json_to_record(args) as t(app_key text, corpus text, path text, most int);
  select t.id into c from holdfast.corpora t where t.app_key = a.app_key and t.name = a.corpus for no key update;
  ids := array(
    select d.id from holdfast.corpus_documents d where d.corpus_id = c and (a.path is null or d.path = a.path) limit a.most
  );
  if a.path is not null then
    perform holdfast.drop_documents(c, ids);
    return cardinality(ids);
  end if;
  -- Counts go with the corpus: to lower them for each document would take longer than all else.
  delete from holdfast.corpus_passages p where p.document_id = any (ids);
  delete from holdfast.corpus_documents d where d.id = any (ids);
  if not exists (select from holdfast.corpus_documents d where d.corpus_id = c) then
    delete from holdfast.corpus_terms t where t.corpus_id = c;
    delete from holdfast.corpora t where t.id = c;
  end if;
  return cardinality(ids);
end $$;
