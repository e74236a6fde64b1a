import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import type { Database } from './database.ts';
import { migrations as ALL, type Migration } from './migrations/all.ts';
import { StoreSchemaMismatch, StoreUnavailable } from './store-errors.ts';

/** "holdfast" in ASCII: one migration of this schema at a time in a database. */
const LOCK = 0x686f6c64;
const LOCK_OF_SCHEMA = 0x66617374;

/** A change of a table that waits for a long transaction holds up everybody else's reads behind it, so it gives way. */
const LONGEST_LOCK_WAIT = '2s';
const PAUSE_AFTER_LOCK_WAIT = 1_000;
const MOST_LOCK_WAITS = 60;
const LOCK_NOT_AVAILABLE = '55P03';

/** Milliseconds: of a migration, and of waiting for another process's. A timer's longest. */
const NO_TIMEOUT = 2 ** 31 - 1;

interface Applied {
  version: number;
  /** None in a store from before they were recorded. */
  checksum: string | null;
}

/**
 * Brings the schema `holdfast` up to date, each migration in a transaction of its own under an advisory lock of that
 * transaction, so that processes which open a store together migrate it once. A schema that is newer than this release
 * is left alone: neighbouring releases share one.
 *
 * @param onProgress is told that a migration is made, and that another process's is waited for.
 * @param migrations in order of their versions. Defaults to this release's.
 * @throws StoreSchemaMismatch, StoreUnavailable
 */
export async function migrate(
  database: Database,
  onProgress: (line: string) => void,
  migrations: readonly Migration[] = ALL,
): Promise<void> {
  const applied = await appliedTo(database);
  const current = latestOf(applied);
  checkTexts(applied, migrations, database.place);
  const told = new Set<string>();
  const tell = (line: string) => {
    if (!told.has(line)) onProgress(line);
    told.add(line);
  };
  const work = current === 0 ? 'creating the store' : `migrating the store from version ${current}`;
  for (const migration of migrations) {
    if (migration.version > current) await applyOnceFree(database, migration, { tell, work, migrations });
  }
}

interface Progress {
  migrations: readonly Migration[];
  tell: (line: string) => void;
  /** What is told when something is really done. */
  work: string;
}

async function appliedTo(database: Database): Promise<Applied[]> {
  const [found] = await database.query<{ there: boolean }>(
    `select to_regclass('holdfast.migrations') is not null as there`,
  );
  return found?.there ? await database.query<Applied>(APPLIED) : [];
}

/** As JSON, because the column is missing in a store of a version that was never released. */
const APPLIED = `select version, to_jsonb(m) ->> 'checksum' as checksum from holdfast.migrations m`;

function latestOf(applied: readonly Applied[]): number {
  return Math.max(0, ...applied.map(({ version }) => version));
}

function checkTexts(applied: readonly Applied[], migrations: readonly Migration[], place: string): void {
  for (const { version, checksum } of applied) {
    const own = migrations.find((migration) => migration.version === version);
    if (own === undefined || checksum === checksumOf(own)) continue;
    throw new StoreSchemaMismatch(
      `the store (${place}) was made by a version of Holdfast that was never released: its migration ` +
        `${version} isn't this release's; delete the folder .holdfast/store, or use another database`,
    );
  }
}

function checksumOf({ sql }: Migration): string {
  return createHash('sha256').update(sql).digest('hex');
}

/** Tries again where a table is locked. */
async function applyOnceFree(database: Database, migration: Migration, progress: Progress): Promise<void> {
  for (let waits = 1; ; waits += 1) {
    try {
      await apply(database, migration, progress);
      return;
    } catch (error) {
      if (!isLocked(error) || waits === MOST_LOCK_WAITS) throw error;
      progress.tell('waiting for a transaction that holds a table of the store');
      await setTimeout(PAUSE_AFTER_LOCK_WAIT);
    }
  }
}

function isLocked(error: unknown): boolean {
  if (!(error instanceof StoreUnavailable)) return false;
  return error.cause instanceof pg.DatabaseError && error.cause.code === LOCK_NOT_AVAILABLE;
}

function apply(
  database: Database,
  migration: Migration,
  { tell, work, migrations }: Progress,
): Promise<void> {
  const { version, name, sql } = migration;
  return database.withConnection(async (client) => {
    await client.query('begin');
    await lock(client, tell);
    await client.query(`set local lock_timeout = '${LONGEST_LOCK_WAIT}'`);
    const applied = await appliedWithin(client);
    checkTexts(applied, migrations, database.place);
    // Another process has been here, of this release or of a newer one.
    if (latestOf(applied) < version) {
      tell(work);
      await client.query(unhurried(sql));
      await client.query('insert into holdfast.migrations (version, name, checksum) values ($1, $2, $3)', [
        version,
        name,
        checksumOf(migration),
      ]);
    }
    await client.query('commit');
  });
}

async function lock(client: pg.PoolClient, tell: (line: string) => void): Promise<void> {
  const keys = [LOCK, LOCK_OF_SCHEMA];
  const { rows } = await client.query<{ got: boolean }>(
    'select pg_try_advisory_xact_lock($1, $2) as got',
    keys,
  );
  if (rows[0]?.got) return;
  tell('waiting for another process that migrates the store');
  await client.query(unhurried('select pg_advisory_xact_lock($1, $2)', keys));
}

async function appliedWithin(client: pg.PoolClient): Promise<Applied[]> {
  const { rows } = await client.query<{ schema: boolean; table: boolean }>(`
    select to_regnamespace('holdfast') is not null as schema,
      to_regclass('holdfast.migrations') is not null as table`);
  // A role that may not make schemas can be given one: `if not exists` asks for the right first.
  if (!rows[0]?.schema) await client.query('create schema holdfast');
  if (!rows[0]?.table) {
    await client.query(`
      create table holdfast.migrations (
        version int primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default clock_timestamp()
      )`);
  }
  return (await client.query<Applied>(APPLIED)).rows;
}

/** Without the pool's `queryTimeout`. */
function unhurried(text: string, values?: unknown[]): pg.QueryConfig {
  const query = { text, values, query_timeout: NO_TIMEOUT };
  return query;
}
