import type { Corpus, CorpusDocument, FoundPassage } from '../../contract/corpora.ts';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { callFunction } from '../engine/sql-function.ts';
import { anyOf, fused, MOST_READ, nearestRows, quoted, rankedByTerms } from '../memories/ranking.ts';
import { appKey } from '../sessions/session-names.ts';
import type { CorpusStore } from './corpus-store.ts';

/** Documents that one statement removes. */
const AT_ONCE = 50;

const LIST = `select c.name as corpus, count(d.id)::int as documents, coalesce(sum(d.passages), 0)::int as passages,
  floor(extract(epoch from c.updated_at) * 1000)::float8 as "updatedAt"
from holdfast.corpora c left join holdfast.corpus_documents d on d.corpus_id = c.id and d.loaded
where c.app_key = $1 group by c.id order by c.name`;

const DOCUMENTS = `select d.path, max(d.digest) filter (where d.loaded) as digest, max(d.title) filter (where d.loaded) as title,
  coalesce(max(d.passages), 0) as passages
from holdfast.corpus_documents d join holdfast.corpora c on c.id = d.corpus_id
where c.app_key = $1 and c.name = $2 and ($3::text is null or d.path > $3 collate "C") group by d.path order by d.path limit $4`;

const COUNTS = `select c.id, (
  select json_object_agg(t.term, t.passages) from holdfast.corpus_terms t
  where t.corpus_id = c.id and t.term = any ($3) and t.passages > 0
) as counts
from holdfast.corpora c where c.app_key = $1 and c.name = $2`;

const RANKED = {
  columns: 'm.id, m.text, m.line, m.page, d.path, d.title',
  from: 'holdfast.corpus_passages m join holdfast.corpus_documents d on d.id = m.document_id',
  embedded: 'd.corpus_id = $1::bigint and d.loaded',
};

const BY_TERMS = rankedByTerms({
  ...RANKED,
  hits: 'd.loaded and m.terms @@ $2::tsquery',
  counts: 'select u.nth, u.count from unnest($5::bigint[]) with ordinality u(count, nth)',
  whole: `select c.passages::float8 as n, greatest(c.words::float8 / greatest(c.passages, 1), 1) as words
  from holdfast.corpora c where c.id = $1::bigint`,
});

interface FoundRow {
  id: string;
  text: string;
  line: number | null;
  page: number | null;
  path: string;
  title: string | null;
}

export function postgresCorpora(database: Database): CorpusStore {
  const nearest = nearestRows<FoundRow>(database, RANKED);
  return {
    list: (app) => database.query<Corpus>(LIST, [appKey(app)]),
    async documents({ app, corpus }, { limit, after }) {
      const rows = await database.query<Nullable<CorpusDocument>>(DOCUMENTS, [
        ...[appKey(app), corpus],
        ...[after ?? null, limit],
      ]);
      return rows.map(present);
    },
    put: ({ app, passages, ...document }) =>
      callFunction<boolean>(database, 'put_passages', {
        app_key: appKey(app),
        ...document,
        passages: passages.map(({ embedding, ...passage }) => ({
          ...passage,
          embedded_by: embedding?.model,
          embedding: embedding?.values,
        })),
      }),
    async remove({ app, corpus, path }) {
      let removed = 0;
      for (;;) {
        const which = { app_key: appKey(app), corpus, path, most: AT_ONCE };
        const some = await callFunction<number>(database, 'remove_documents', which);
        removed += some;
        if (some < AT_ONCE) return removed;
      }
    },
    async search({ app, corpus }, { terms, embedding, limit }) {
      const [found] = await database.query<{ id: string; counts: Record<string, number> | null }>(COUNTS, [
        ...[appKey(app), corpus],
        terms,
      ]);
      if (found === undefined) return undefined;
      const { id, counts } = found;
      const known = Object.entries(counts ?? {}).sort(([, one], [, other]) => one - other);
      const [byTerms, byMeaning] = await Promise.all([
        known.length === 0
          ? []
          : database.query<FoundRow>(BY_TERMS, [
              ...[id, anyOf(id, rarest(known))],
              known.map(([term]) => quoted(term)),
              ...[limit, known.map(([, count]) => count)],
            ]),
        embedding === undefined ? [] : nearest(id, embedding, limit),
      ]);
      return fused([byTerms, byMeaning], limit).map(({ row: { id: _id, ...passage }, score }) => ({
        ...(present(passage) as Omit<FoundPassage, 'score'>),
        score,
      }));
    },
  };
}

/** Terms of which passages are read: a word that most passages have says little, and reading them all takes long. */
function rarest(counts: readonly (readonly [term: string, count: number])[]): string[] {
  let read = 0;
  return counts
    .filter(([, count], index) => {
      read += count;
      return index === 0 || read <= MOST_READ;
    })
    .map(([term]) => term);
}

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null };

function present<Row>(row: Nullable<Row>): Row {
  return defined(Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))) as Row;
}
