import { type Expression, type Kysely, type RawBuilder, sql } from 'kysely';
import { DEFAULT_LISTED, MOST_LISTED } from '../../contract/lists.ts';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { Tables } from '../engine/tables.ts';
import type { SessionNames } from './session-names.ts';
import { appKey, sessionKeys } from './session-names.ts';

/** Id of the session that people and programs know a row of `holdfast.sessions` by: its own, or that of its root. */
export function rootOf(alias: string) {
  return sql<string>`coalesce(${sql.ref(`${alias}.root_session`)}, ${sql.ref(`${alias}.id`)})`;
}

/** Rows of a list by the values of columns. An index has the rows of each combination of values in order. */
export interface Listed {
  among: Readonly<Record<string, readonly string[]>>;
  /** Any number of values, as a query. */
  within?: { column: 'session_id' | 'user_key'; values: Expression<unknown> };
}

/** Rows of such sessions, and of those below them; all rows where nothing is named. */
export async function listedBySessions(
  database: Database,
  { app, userId, sessionId }: { [name in keyof SessionNames]?: string | undefined },
): Promise<Listed> {
  if (sessionId !== undefined) {
    const values = treesOf(database.db, { app, userId, sessionId });
    return { among: {}, within: { column: 'session_id', values } };
  }
  if (userId === undefined)
    return { among: defined({ app_key: app === undefined ? undefined : [appKey(app)] }) };
  const userKey = (of: string) => sessionKeys({ app: of, userId, sessionId: '' }).user;
  if (app !== undefined) return { among: { user_key: [userKey(app)] } };
  const apps = await database.read(APPS.compile(database.db));
  const values = sql`select unnest(${apps.map((each) => userKey(each.app))}::text[])`;
  return { among: {}, within: { column: 'user_key', values } };
}

/** Ids of sessions, and of those that agents' tools have made below them. */
function treesOf(
  db: Kysely<Tables>,
  {
    app,
    userId,
    sessionId,
  }: Pick<SessionNames, 'sessionId'> & { [name in 'app' | 'userId']: string | undefined },
) {
  let roots = db.selectFrom('holdfast.sessions as r');
  if (app !== undefined && userId !== undefined) {
    roots = roots.where('r.name_key', '=', sessionKeys({ app, userId, sessionId }).name);
  } else {
    roots = roots.where('r.name', '=', storableText(sessionId)).where('r.root_session', 'is', null);
    if (app !== undefined) roots = roots.where('r.app', '=', storableText(app));
    if (userId !== undefined) roots = roots.where('r.user_id', '=', storableText(userId));
  }
  const below = roots.innerJoin('holdfast.sessions as c', 'c.root_session', 'r.id').select('c.id');
  return roots.select('r.id').unionAll(below);
}

/** The apps that have sessions: from each app's first index entry to the next app's, however many sessions there are. */
export const APPS = sql<{ app: string }>`
  with recursive found as (
    (select app, app_key from holdfast.sessions where root_session is null order by app_key limit 1)
    union all
    select next.app, next.app_key from found,
      lateral (
        select s.app, s.app_key from holdfast.sessions s
        where s.app_key > found.app_key and s.root_session is null order by s.app_key limit 1
      ) next
  ) select app from found order by app`;

export interface ListedRows extends Listed {
  /** The column that tells rows of one moment apart. */
  id: string;
  order: 'oldest' | 'newest' | undefined;
  limit: number;
  /** The last row of the page before. */
  after: { since: number; id: string } | undefined;
}

/**
 * The first rows of a list, as a table. Rows of each combination of values are a query of their own, and PostgreSQL merges these in order
 * for as long as rows are wanted. One query with a condition for all values would sort all rows that there are.
 */
export function firstRows<Row>(
  table: 'holdfast.approvals' | 'holdfast.jobs',
  { among, within, id, order, limit, after }: ListedRows,
): RawBuilder<Row> {
  const [direction, comes] = order === 'newest' ? [sql`desc`, sql`<`] : [sql`asc`, sql`>`];
  const ordered = (of: string) =>
    sql`order by ${sql.ref(`${of}.since`)} ${direction}, ${sql.ref(`${of}.${id}`)} ${direction}`;
  let queries = [sql`select t.* from ${sql.table(table)} t where true`];
  const narrow = (...conditions: RawBuilder<unknown>[]) => {
    queries = queries.flatMap((query) => conditions.map((condition) => sql`${query} and ${condition}`));
  };
  if (within !== undefined) narrow(sql`${sql.ref(`t.${within.column}`)} = k.key`);
  for (const [name, values] of Object.entries(among)) {
    narrow(...[...new Set(values)].map((value) => sql`${sql.ref(`t.${name}`)} = ${value}`));
  }
  if (after !== undefined) {
    const place = sql`(${String(after.since)}, ${storableText(after.id)})`;
    narrow(sql`(t.since, ${sql.ref(`t.${id}`)}) ${comes} ${place}`);
  }
  // A plan for any parameters expects a tenth of all rows to be wanted, unless the text says that they are few.
  const few = sql`limit ${sql.lit(limit > DEFAULT_LISTED ? MOST_LISTED : DEFAULT_LISTED)}`;
  const found = sql.join(
    queries.map((query) => sql`(${query} ${ordered('t')} ${few})`),
    sql` union all `,
  );
  const keys = within === undefined ? sql`` : sql`(${within.values}) k (key) cross join lateral`;
  return sql<Row>`(
    select f.* from ${keys} (select t.* from (${found}) t ${ordered('t')} ${few}) f
    ${ordered('f')} limit ${Math.min(limit, MOST_LISTED)}
  )`;
}
