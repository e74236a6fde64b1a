import type { Selectable } from 'kysely';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { Tables } from '../engine/tables.ts';
import { appKey, sessionKeys } from '../sessions/session-names.ts';
import type { FoundMemory, MemoryOwner, MemoryStore, NewMemory } from './memory-store.ts';
import { anyOf, fused, nearestRows, quoted, rankedByTerms } from './ranking.ts';

type FoundRow = Pick<
  Selectable<Tables['holdfast.memories']>,
  'id' | 'author' | 'content' | 'metadata' | 'said_at'
> & {
  name: string | null;
};

const ID = /^[1-9]\d{0,17}$/;

const FOUND = `m.id, m.author, m.content, m.metadata, m.said_at,
  (select s.name from holdfast.sessions s where s.id = m.session_id) as name`;

const RANKED = {
  columns: FOUND,
  from: 'holdfast.memories m',
  embedded: 'm.user_key = $1',
};

const BY_TERMS = rankedByTerms({
  ...RANKED,
  hits: 'm.user_key = $1 and m.terms @@ $2::tsquery order by m.id desc',
  counts: 'select h.nth, count(*) as count from matches h group by h.nth',
  whole:
    'select count(*)::float8 as n, greatest(avg(m.words), 1)::float8 as words from holdfast.memories m where m.user_key = $1',
});

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
  const nearest = nearestRows<FoundRow>(database, RANKED);

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
      return fused([byTerms, byMeaning], limit).map(({ row }) => foundMemory(row));
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
