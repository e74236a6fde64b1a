import { sql } from 'kysely';
import type { Database } from './database.ts';

/** Id of the session that people and programs know a row of `holdfast.sessions` by: its own, or that of its root. */
export function rootOf(alias: string) {
  return sql<string>`coalesce(${sql.ref(`${alias}.root_session`)}, ${sql.ref(`${alias}.id`)})`;
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
