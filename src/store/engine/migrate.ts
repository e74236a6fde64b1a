import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import {
  type AppliedSchema,
  foreignVersion,
  newestOf,
  outdatedFunctions,
  readApplied,
} from '../schema/applied-schema.ts';
import {
  checksumOf,
  STORE_SCHEMA,
  type StoreSchema,
  signatureOf,
  type TableChange,
  versionOf,
} from '../schema/store-schema.ts';
import { StoreError, StoreUnavailable } from '../store-errors.ts';
import type { Database } from './database.ts';

/** "holdfast" in ASCII: one migration of this schema at a time in a database. */
const LOCK = 0x686f6c64;
const LOCK_OF_SCHEMA = 0x66617374;

/** A change of a table that waits for a long transaction holds up all later reads, so it gives up and tries again. */
const LONGEST_LOCK_WAIT = '2s';
const PAUSE_AFTER_LOCK_WAIT = 1_000;
const MOST_LOCK_WAITS = 60;
/** A lock isn't to be had, or others wait for one in a circle. */
const LOCK_STATES: readonly (string | undefined)[] = ['55P03', '40P01'];

/** Milliseconds: of a migration, and of waiting for another process's. A timer's longest. */
const NO_TIMEOUT = 2 ** 31 - 1;

interface Migration {
  database: Database;
  schema: StoreSchema;
  /** Each line once. */
  tell: (line: string) => void;
  /** Whether progress was told. */
  isReported: boolean;
}

/**
 * Brings the schema `holdfast` up to date: changes of tables each in a transaction of its own, then the functions that differ
 * in one. An advisory lock of the transaction sees to it that processes which open a store together migrate it once. A schema
 * that is newer than this release only gets functions that it lacks: neighbouring releases share one.
 *
 * @param onProgress is told that the store is created or migrated, and what is waited for.
 * @param schema Defaults to this release's.
 * @throws HOLDFAST_STORE_SCHEMA_MISMATCH, StoreUnavailable, StoreFailed where the role may not do it
 */
export async function migrate(
  database: Database,
  onProgress: (line: string) => void,
  schema: StoreSchema = STORE_SCHEMA,
): Promise<void> {
  const told = new Set<string>();
  const tell = (line: string) => {
    if (!told.has(line)) onProgress(line);
    told.add(line);
  };
  const migration = { database, schema, tell, isReported: false };
  const applied = await database.withConnection(readApplied);
  checkTexts(applied, migration);
  for (const change of schema.changes) {
    if (change.version > newestOf(applied)) await onceFree(migration, () => applyChange(migration, change));
  }
  if (outdatedFunctions(applied, schema).length === 0) return;
  await onceFree(migration, () => replaceFunctions(migration));
}

function checkTexts(applied: AppliedSchema, { database, schema }: Migration): void {
  const version = foreignVersion(applied, schema);
  if (version === undefined) return;
  throw new StoreError(
    'HOLDFAST_STORE_SCHEMA_MISMATCH',
    `the store (${database.place}) was made by a version of Holdfast that was never released: its migration ` +
      `${version} isn't this release's; use another database, or for an embedded store another folder`,
  );
}

/** Tries again where a table is locked. */
async function onceFree({ tell }: Migration, run: () => Promise<void>): Promise<void> {
  for (let waits = 1; ; waits += 1) {
    try {
      await run();
      return;
    } catch (error) {
      if (!isLocked(error) || waits === MOST_LOCK_WAITS) throw error;
      tell('waiting for a transaction that holds a table of the store');
      await setTimeout(PAUSE_AFTER_LOCK_WAIT);
    }
  }
}

function isLocked(error: unknown): boolean {
  if (!(error instanceof StoreUnavailable)) return false;
  return error.cause instanceof pg.DatabaseError && LOCK_STATES.includes(error.cause.code);
}

function applyChange(migration: Migration, { version, name, sql }: TableChange): Promise<void> {
  return migrating(migration, async (client, applied) => {
    // Another process has been here, of this release or of a newer one.
    if (newestOf(applied) >= version) return;
    reportMigration(migration, applied);
    await client.query(withoutTimeout(sql));
    await client.query('insert into holdfast.migrations (version, name, checksum) values ($1, $2, $3)', [
      version,
      name,
      checksumOf(sql),
    ]);
  });
}

/** Workers of the release before go on meanwhile: they call the new definitions, which take what the old ones took. */
function replaceFunctions(migration: Migration): Promise<void> {
  return migrating(migration, async (client, applied) => {
    const outdated = outdatedFunctions(applied, migration.schema);
    if (outdated.length === 0) return;
    reportMigration(migration, applied);
    // One that calls another may be made before it.
    await client.query('set local check_function_bodies = off');
    const isReshaped = ([name, sql]: [string, string]) => {
      const before = applied.functions.get(name);
      return before !== undefined && before.signature !== signatureOf(sql);
    };
    await dropFunctions(
      client,
      outdated.filter(isReshaped).map(([name]) => name),
    );
    await client.query(withoutTimeout(outdated.map(([, sql]) => sql).join('\n')));
    await client.query(
      `insert into holdfast.functions (name, checksum, signature) select * from unnest($1::text[], $2::text[], $3::text[])
        on conflict (name) do update set checksum = excluded.checksum, signature = excluded.signature,
          replaced_at = clock_timestamp()`,
      [
        outdated.map(([name]) => name),
        outdated.map(([, sql]) => checksumOf(sql)),
        outdated.map(([, sql]) => signatureOf(sql)),
      ],
    );
  });
}

/** Where parameters differ, the old definition would stay beside the new one; with another result it can't be replaced. */
async function dropFunctions(client: pg.PoolClient, names: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ definition: string }>(
    `select p.oid::regprocedure::text as definition from pg_proc p
      where p.proname = any ($1) and p.pronamespace = 'holdfast'::regnamespace`,
    [names],
  );
  if (rows.length === 0) return;
  await client.query(`drop function ${rows.map(({ definition }) => definition).join(', ')}`);
}

function reportMigration(migration: Migration, applied: AppliedSchema): void {
  if (migration.isReported) return;
  migration.isReported = true;
  const from = newestOf(applied);
  if (applied.functions.size === 0) migration.tell('creating the store');
  else if (from < versionOf(migration.schema)) migration.tell(`migrating the store from version ${from}`);
  else migration.tell('replacing functions of the store');
}

/** In a transaction that no other process's migration overlaps. */
function migrating(
  migration: Migration,
  run: (client: pg.PoolClient, applied: AppliedSchema) => Promise<void>,
): Promise<void> {
  return migration.database.withConnection(async (client) => {
    // A read after a wait must see the commits of those it waited for.
    await client.query(
      'begin isolation level read committed; set local statement_timeout = 0; set local lock_timeout = 0',
    );
    await lock(client, migration);
    await client.query(`set local lock_timeout = '${LONGEST_LOCK_WAIT}'`);
    await makeRecords(client);
    const applied = await readApplied(client);
    checkTexts(applied, migration);
    await run(client, applied);
    await client.query('commit');
  });
}

async function lock(client: pg.PoolClient, { tell }: Migration): Promise<void> {
  const keys = [LOCK, LOCK_OF_SCHEMA];
  const { rows } = await client.query<{ got: boolean }>(
    'select pg_try_advisory_xact_lock($1, $2) as got',
    keys,
  );
  if (rows[0]?.got) return;
  tell('waiting for another process that migrates the store');
  await client.query(withoutTimeout('select pg_advisory_xact_lock($1, $2)', keys));
}

async function makeRecords(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ schema: boolean; table: boolean }>(`
    select to_regnamespace('holdfast') is not null as schema,
      to_regclass('holdfast.functions') is not null as table`);
  // A role that may not make schemas can be given one: `if not exists` asks for the right first.
  if (!rows[0]?.schema) await client.query('create schema holdfast');
  if (rows[0]?.table) return;
  await client.query(`
    create table holdfast.migrations (
      version int primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default clock_timestamp()
    );
    create table holdfast.functions (
      name text primary key,
      checksum text not null,
      signature text not null,
      replaced_at timestamptz not null default clock_timestamp()
    )`);
}

/** Without the pool's `queryTimeout`. */
function withoutTimeout(text: string, values?: unknown[]): pg.QueryConfig {
  const query = { text, values, query_timeout: NO_TIMEOUT };
  return query;
}
