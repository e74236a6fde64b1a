import type { Database } from '../engine/database.ts';
import { StoreUnavailable } from '../store-errors.ts';
import type { Embedding } from './memory-store.ts';

/** Rows with one of the terms that a search looks at. */
export const MOST_READ = 5_000;
/** Rows whose embeddings are compared where PostgreSQL has no pgvector, the newest ones. */
const MOST_COMPARED = 2_000;
/** A number of rank fusion: the higher, the less the first ranks count. As in Cormack, Clarke and Büttcher, 2009. */
const FUSION = 60;

/** Rows `m` of a table that has `id`, `terms`, `words`, `embedded_by` and `embedding`, `$1` of which are searched. */
interface Ranked {
  columns: string;
  from: string;
  /** The condition of rows with an embedding. */
  embedded: string;
}

/**
 * The statement that finds the best rows by BM25 with each term counted once, and lengths weighed a little. `$2`: the query; `$3`: its
 * terms, {@link quoted}; `$4`: rows of the answer.
 *
 * @param given `hits`: the condition of rows, and their order; `counts`: how many rows have the `nth` term; `whole`: how many rows `n`
 * there are, and their average of `words`.
 */
export function rankedByTerms({
  columns,
  from,
  hits,
  counts,
  whole,
}: Omit<Ranked, 'embedded'> & { hits: string; counts: string; whole: string }): string {
  // Each list is made once: PostgreSQL expects one row of each.
  return `with terms as materialized (
  select u.t::tsquery as term, u.nth from unnest($3::text[]) with ordinality u(t, nth)
), hits as materialized (
  select m.id, m.terms, m.words from ${from} where ${hits} limit ${MOST_READ}
), matches as materialized (
  select h.id, h.words, t.nth from hits h join terms t on h.terms @@ t.term
), whole as materialized (
  ${whole}
), counts as materialized (
  ${counts}
), weights as materialized (
  select c.nth, ln(1 + greatest(w.n - c.count, 0) / (c.count + 0.5)) as weight from counts c cross join whole w
), best as materialized (
  select h.id, sum(g.weight) / (1 + 1.2 * (0.7 + 0.3 * h.words / w.words)) as score
  from matches h join weights g on g.nth = h.nth cross join whole w
  group by h.id, h.words, w.words order by 2 desc, 1 desc limit $4
)
select ${columns} from best b join ${from} on m.id = b.id order by b.score desc, m.id desc`;
}

const HAS_VECTORS = `select to_regtype('vector') is not null as made,
  exists (select from pg_available_extensions where name = 'vector') as available`;

/** Finds rows whose embeddings are near to one, the nearest first: by pgvector where it is, else among the newest ones. */
export function nearestRows<Row>(database: Database, { columns, from, embedded }: Ranked) {
  const where = `${embedded} and m.embedded_by = $2 and cardinality(m.embedding) = cardinality($3::real[])`;
  const byVector = `select ${columns} from ${from} where ${where}
order by m.embedding::vector <#> $3::real[]::vector, m.id desc limit $4`;
  const byArray = `with newest as materialized (
  select m.id, m.embedding from ${from} where ${where} order by m.id desc limit ${MOST_COMPARED}
), best as materialized (
  select n.id, (select sum(u.one * u.other) from unnest(n.embedding, $3::real[]) u(one, other)) as score
  from newest n order by 2 desc, 1 desc limit $4
)
select ${columns} from best b join ${from} on m.id = b.id order by b.score desc, m.id desc`;

  let vectors: Promise<boolean> | undefined;
  return async (scope: string, { model, values }: Embedding, limit: number): Promise<Row[]> => {
    vectors ??= hasVectors(database);
    vectors.catch(() => {
      vectors = undefined;
    });
    return await database.query<Row>((await vectors) ? byVector : byArray, [scope, model, values, limit]);
  };
}

async function hasVectors(database: Database): Promise<boolean> {
  const [found] = await database.query<{ made: boolean; available: boolean }>(HAS_VECTORS);
  if (found?.made || !found?.available) return found?.made === true;
  try {
    await database.query('create extension if not exists vector');
    return true;
  } catch (error) {
    // The store's user may not make it: embeddings are compared without it.
    if (error instanceof StoreUnavailable) throw error;
    return false;
  }
}

/**
 * A query for one of the terms, by an index that holds the terms of all scopes.
 *
 * @param scope the store adds it to the terms of a row, after a sign that no word has.
 */
export function anyOf(scope: string, terms: readonly string[]): string {
  return `${quoted(`@${scope}`)} & (${terms.map(quoted).join(' | ')})`;
}

export function quoted(term: string): string {
  return `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** By how high a row stands in each list; the score of one that is the first of all lists is 1. */
export function fused<Row extends { id: string }>(
  lists: readonly Row[][],
  limit: number,
): { row: Row; score: number }[] {
  const full = lists.filter((list) => list.length > 0).length;
  const scores = new Map<string, { row: Row; score: number }>();
  for (const list of lists) {
    for (const [index, row] of list.entries()) {
      const known = scores.get(row.id) ?? { row, score: 0 };
      known.score += (FUSION + 1) / (FUSION + index + 1) / full;
      scores.set(row.id, known);
    }
  }
  return [...scores.values()].sort((one, other) => other.score - one.score).slice(0, limit);
}
