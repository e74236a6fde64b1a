import type { Selectable } from 'kysely';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { Tables } from '../engine/tables.ts';
import { appKey, sessionKeys } from '../sessions/session-names.ts';
import { StoreUnavailable } from '../store-errors.ts';
import type { Embedding, FoundMemory, MemoryOwner, MemoryStore, NewMemory } from './memory-store.ts';

type FoundRow = Pick<
  Selectable<Tables['holdfast.memories']>,
  'id' | 'author' | 'content' | 'metadata' | 'said_at'
> & {
  name: string | null;
};

/** Memories with one of the terms that a search looks at, the newest ones. */
const MOST_READ = 5_000;
/** Memories whose embeddings are compared where PostgreSQL has no pgvector, the newest ones. */
const MOST_COMPARED = 2_000;
const ID = /^[1-9]\d{0,17}$/;

/** Of rank fusion: the higher, the less the first ranks count. As in Cormack, Clarke and Büttcher, 2009. */
const FUSION = 60;

const FOUND = `m.id, m.author, m.content, m.metadata, m.said_at,
  (select s.name from holdfast.sessions s where s.id = m.session_id) as name`;

// BM25 with each term counted once, and lengths weighed a little. Each list is made once: PostgreSQL expects one row of each.
const BY_TERMS = `with terms as materialized (
  select u.t::tsquery as term, u.nth from unnest($3::text[]) with ordinality u(t, nth)
), hits as materialized (
  select m.id, m.terms, m.words from holdfast.memories m
  where m.user_key = $1 and m.terms @@ $2::tsquery order by m.id desc limit ${MOST_READ}
), matches as materialized (
  select h.id, h.words, t.nth from hits h join terms t on h.terms @@ t.term
), whole as materialized (
  select count(*)::float8 as n, greatest(avg(m.words), 1)::float8 as words from holdfast.memories m where m.user_key = $1
), weights as materialized (
  select h.nth, ln(1 + greatest(w.n - count(*), 0) / (count(*) + 0.5)) as weight
  from matches h cross join whole w group by h.nth, w.n
), best as materialized (
  select h.id, sum(g.weight) / (1 + 1.2 * (0.7 + 0.3 * h.words / w.words)) as score
  from matches h join weights g on g.nth = h.nth cross join whole w
  group by h.id, h.words, w.words order by 2 desc, 1 desc limit $4
)
select ${FOUND} from best b join holdfast.memories m on m.id = b.id order by b.score desc, m.id desc`;

const EMBEDDED =
  'm.user_key = $1 and m.embedded_by = $2 and cardinality(m.embedding) = cardinality($3::real[])';

const BY_VECTOR = `select ${FOUND} from holdfast.memories m where ${EMBEDDED}
order by m.embedding::vector <#> $3::real[]::vector, m.id desc limit $4`;

const BY_ARRAY = `with newest as (
  select m.* from holdfast.memories m where ${EMBEDDED} order by m.id desc limit ${MOST_COMPARED}
)
select ${FOUND} from newest m
order by (select sum(u.one * u.other) from unnest(m.embedding, $3::real[]) u(one, other)) desc, m.id desc limit $4`;

const HAS_VECTORS = `select to_regtype('vector') is not null as made,
  exists (select from pg_available_extensions where name = 'vector') as available`;

const PROGRESS =
  'select s.id as session, s.remembered_seq as seq from holdfast.sessions s where s.name_key = $1 and s.root_session is null';

const NEWEST = `select ${FOUND} from holdfast.memories m
where m.user_key = $1 and ($2::bigint is null or m.id < $2) order by m.id desc limit $3`;

const DELETE = `with read as (
  update holdfast.sessions s set remembered_seq = s.last_seq
  where s.user_key = $1 and s.root_session is null and $2::bigint[] is null and s.remembered_seq < s.last_seq
), gone as (
  delete from holdfast.memories m where m.user_key = $1 and ($2::bigint[] is null or m.id = any ($2)) returning 1
)
select count(*)::int as deleted from gone`;

const DELETE_ADDED = `with gone as (
  delete from holdfast.memories m where m.id in (
    select t.id from holdfast.memories t
    where t.app_key = $1 and t.session_id is null and t.created_at < to_timestamp($2::float8 / 1000) order by t.created_at limit $3
  ) returning 1
)
select count(*)::int as deleted from gone`;

export function postgresMemories(database: Database): MemoryStore {
  let vectors: Promise<boolean> | undefined;
  const hasVectors = async () => {
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
  };

  const nearest = async (userKey: string, { model, values }: Embedding, limit: number) => {
    vectors ??= hasVectors();
    vectors.catch(() => {
      vectors = undefined;
    });
    const statement = (await vectors) ? BY_VECTOR : BY_ARRAY;
    return await database.query<FoundRow>(statement, [userKey, model, values, limit]);
  };

  return {
    async progress(names) {
      const [row] = await database.query<{ session: string; seq: string }>(PROGRESS, [
        sessionKeys(names).name,
      ]);
      return row && { session: row.session, seq: Number(row.seq) };
    },
    async rememberEvents({ session, upTo, memories }) {
      return await callFunction<boolean>(database, 'remember_events', {
        session,
        seq: upTo,
        memories: memories.map(({ seq, nth, ...memory }) => ({ seq, nth, ...columnsOf(memory) })),
      });
    },
    async add(owner, memories) {
      if (memories.length === 0) return [];
      const { app, user } = keysOf(owner);
      return await callFunction<string[]>(database, 'add_memories', {
        app_key: app,
        user_key: user,
        memories: memories.map(({ key, metadata, ...memory }) => ({
          source: `added/${key}`,
          metadata: metadata && JsonDocument.of(metadata),
          ...columnsOf(memory),
        })),
      });
    },
    async search(owner, { terms, embedding, limit }) {
      const { user } = keysOf(owner);
      const [byTerms, byMeaning] = await Promise.all([
        terms.length === 0
          ? []
          : database.query<FoundRow>(BY_TERMS, [user, anyOf(user, terms), terms.map(quoted), limit]),
        embedding === undefined ? [] : nearest(user, embedding, limit),
      ]);
      return fused([byTerms, byMeaning], limit).map(foundMemory);
    },
    async newest(owner, { limit, after }) {
      if (after !== undefined && !ID.test(after)) return [];
      const rows = await database.query<FoundRow>(NEWEST, [keysOf(owner).user, after ?? null, limit]);
      return rows.map(foundMemory);
    },
    async delete(owner, ids) {
      const known = ids?.filter((id) => ID.test(id)) ?? null;
      const [row] = await database.query<{ deleted: number }>(DELETE, [keysOf(owner).user, known]);
      return row?.deleted ?? 0;
    },
    async deleteAddedBefore(app, before, limit) {
      const [row] = await database.query<{ deleted: number }>(DELETE_ADDED, [appKey(app), before, limit]);
      return row?.deleted ?? 0;
    },
  };
}

function keysOf({ app, userId }: MemoryOwner) {
  return sessionKeys({ app, userId, sessionId: '' });
}

function columnsOf({ content, author, saidAt, terms, words, embedding }: NewMemory) {
  return {
    author,
    content: JsonDocument.of(content),
    said_at: saidAt,
    terms,
    words,
    embedded_by: embedding?.model,
    embedding: embedding?.values,
  };
}

/** A query for one of the terms, by an index that holds the terms of all users. */
function anyOf(userKey: string, terms: readonly string[]): string {
  // The store adds the user to the terms of a memory. No word has this sign.
  return `${quoted(`@${userKey}`)} & (${terms.map(quoted).join(' | ')})`;
}

function quoted(term: string): string {
  return `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** By how high a memory stands in each list. */
function fused(lists: readonly FoundRow[][], limit: number): FoundRow[] {
  const scores = new Map<string, { row: FoundRow; score: number }>();
  for (const list of lists) {
    for (const [index, row] of list.entries()) {
      const known = scores.get(row.id) ?? { row, score: 0 };
      known.score += 1 / (FUSION + index + 1);
      scores.set(row.id, known);
    }
  }
  return [...scores.values()]
    .sort((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ row }) => row);
}

function foundMemory({ id, author, content, metadata, said_at, name }: FoundRow): FoundMemory {
  return {
    id,
    content,
    saidAt: said_at.getTime(),
    ...defined({
      author: author ?? undefined,
      metadata: metadata ?? undefined,
      sessionId: name ?? undefined,
    }),
  };
}
