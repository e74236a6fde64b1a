import type { Database } from './database.ts';
import { type Migration, migrations } from './migrations/all.ts';

/** "holdfast" in ASCII: one migration of this schema at a time in a database. */
const LOCK = 0x686f6c64;
const LOCK_OF_SCHEMA = 0x66617374;

/**
 * Brings the schema `holdfast` up to date, each migration in a transaction of its own under an advisory lock. A schema
 * that is newer than this release is left alone: neighbouring releases share one.
 */
export async function migrate(database: Database, onProgress: (line: string) => void): Promise<void> {
  const current = await versionOf(database);
  const pending = migrations.filter(({ version }) => version > current);
  if (pending.length === 0) return;
  onProgress(current === 0 ? 'creating the store' : `migrating the store from version ${current}`);
  for (const migration of pending) await apply(database, migration);
}

async function versionOf(database: Database): Promise<number> {
  const [found] = await database.query<{ there: boolean }>(
    `select to_regclass('holdfast.migrations') is not null as there`,
  );
  if (!found?.there) return 0;
  const [latest] = await database.query<{ version: number }>(
    'select coalesce(max(version), 0) as version from holdfast.migrations',
  );
  return latest?.version ?? 0;
}

function apply(database: Database, { version, name, sql }: Migration): Promise<void> {
  return database.withConnection(async (client) => {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1, $2)', [LOCK, LOCK_OF_SCHEMA]);
    await client.query(`
      create schema if not exists holdfast;
      create table if not exists holdfast.migrations (
        version int primary key,
        name text not null,
        applied_at timestamptz not null default clock_timestamp()
      )`);
    const { rowCount } = await client.query('select from holdfast.migrations where version = $1', [version]);
    if (rowCount === 0) {
      await client.query(sql);
      await client.query('insert into holdfast.migrations (version, name) values ($1, $2)', [version, name]);
    }
    await client.query('commit');
  });
}
