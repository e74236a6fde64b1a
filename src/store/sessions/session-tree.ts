import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { SessionNames } from './session-names.ts';
import { sessionKeys } from './session-names.ts';

/** Id of the session that people and programs know a row of `holdfast.sessions` by: its own, or that of its root. */
export function rootOf(alias: string) {
  return sql<string>`coalesce(${sql.ref(`${alias}.root_session`)}, ${sql.ref(`${alias}.id`)})`;
}

/**
 * The condition for rows of such sessions, and of those below them, in a form that an index serves.
 *
 * @param row alias of a table with the columns `session_id`, `user_key` and `app_key`.
 */
export function ofSessions(
  database: Database,
  row: string,
  { app, userId, sessionId }: { [name in keyof SessionNames]?: string | undefined },
): RawBuilder<SqlBool>[] {
  const of = (column: string) => sql.ref(`${row}.${column}`);
  const within = (sessions: ReturnType<typeof tree> | ReturnType<typeof treesOf>) =>
    sql<SqlBool>`${of('session_id')} in ${sessions}`;
  if (app !== undefined && userId !== undefined && sessionId !== undefined) {
    return [within(tree(database, sessionKeys({ app, userId, sessionId }).name))];
  }
  const conditions: RawBuilder<SqlBool>[] = [];
  if (app !== undefined) {
    const keys = sessionKeys({ app, userId: userId ?? '', sessionId: '' });
    conditions.push(
      userId === undefined
        ? sql<SqlBool>`${of('app_key')} = ${keys.app}`
        : sql<SqlBool>`${of('user_key')} = ${keys.user}`,
    );
  } else if (userId !== undefined) {
    conditions.push(within(treesOf(database).where('s.user_id', '=', storableText(userId))));
  }
  if (sessionId !== undefined) {
    conditions.push(within(treesOf(database).where('s.name', '=', storableText(sessionId))));
  }
  return conditions;
}

/** Ids of a session and of those that agents' tools have made below it. */
export function tree({ db }: Database, nameKey: string) {
  return db
    .selectFrom('holdfast.sessions as r')
    .select('r.id')
    .where('r.name_key', '=', nameKey)
    .unionAll(
      db
        .selectFrom('holdfast.sessions as r')
        .innerJoin('holdfast.sessions as c', 'c.root_session', 'r.id')
        .select('c.id')
        .where('r.name_key', '=', nameKey),
    );
}

/** Ids of sessions and of those below them, to be narrowed down by the root’s names: `s`. */
export function treesOf(database: Database) {
  return database.db
    .selectFrom('holdfast.sessions as o')
    .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
    .select('o.id');
}
