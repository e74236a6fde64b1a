import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, afterEach, expect, test } from 'vitest';
import { Database } from '../../src/store/engine/database.ts';
import { migrate } from '../../src/store/engine/migrate.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { STORE_SCHEMA, type StoreSchema, versionOf } from '../../src/store/schema/store-schema.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { isDeep } from '../setup/tier.ts';
import { Turn } from './suite/turns/turn.ts';
import { folderWithStore } from './temporary-folder.ts';

const OPENING = fileURLToPath(new URL('./opening-process.ts', import.meta.url));
const LOCK = "select pg_advisory_xact_lock(x'686f6c64'::int, x'66617374'::int)";
const LATEST = versionOf(STORE_SCHEMA);

const server = await startPostgresServer();
afterAll(() => server.close());

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function opened(url: string, progress: string[] = []): Promise<OpenedStore> {
  const store = await openStore({ url, poolSize: 2, onProgress: (line) => progress.push(line) });
  endings.push(() => store.close());
  return store;
}

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  endings.push(() => client.end());
  return client;
}

function pooled(url: string, queryTimeout = 60_000): Database {
  const database = new Database(new pg.Pool({ connectionString: url, max: 2, query_timeout: queryTimeout }));
  endings.push(() => database.close());
  return database;
}

function applied(url: string): Promise<{ version: number }[]> {
  return server.query('select version from holdfast.migrations order by version', nameOf(url));
}

const nameOf = (url: string) => new URL(url).pathname.slice(1);

/** The schema of a release after this one. */
const next = (sql: string): StoreSchema => ({
  ...STORE_SCHEMA,
  changes: [...STORE_SCHEMA.changes, { version: LATEST + 1, name: 'next', sql }],
});

test('processes and pools that open a fresh database together migrate it once [store.migrate]', async () => {
  const url = await server.newDatabase();
  const processes = await Promise.all(Array.from({ length: 3 }, () => waitingProcess(url)));
  const stores = Promise.all(Array.from({ length: 8 }, () => opened(url)));
  const told = processes.map(async (opening) => {
    opening.stdin.write('now');
    const [line] = await once(opening.stdout, 'data');
    return String(line);
  });
  expect(await Promise.all(told)).toEqual(processes.map(() => 'opened\n'));
  for (const store of await stores) await new Turn(store).opened(1);
  expect(await applied(url)).toEqual(STORE_SCHEMA.changes.map(({ version }) => ({ version })));
});

async function waitingProcess(url: string): Promise<ChildProcessByStdio<Writable, Readable, null>> {
  const opening = spawn(process.execPath, [OPENING, url], { stdio: ['pipe', 'pipe', 'inherit'] });
  endings.push(async () => opening.kill('SIGKILL'));
  await once(opening.stdout, 'data');
  return opening;
}

test('a worker that waits for the migration of another says so, and opens after it [store.migrate]', async () => {
  const url = await server.newDatabase();
  const other = await connected(url);
  await other.query('begin');
  await other.query(LOCK);
  const progress: string[] = [];
  const opening = opened(url, progress);
  await expect.poll(() => progress).toEqual(['waiting for another process that migrates the store']);
  expect(await server.query(`select from pg_namespace where nspname = 'holdfast'`, nameOf(url))).toEqual([]);
  await other.query('commit');
  await new Turn(await opening).opened(1);
  expect(progress).toEqual(['waiting for another process that migrates the store', 'creating the store']);
});

test('a schema newer than this release is left alone, and works [store.migrate]', async () => {
  const url = await server.newDatabase();
  const before = new Turn(await opened(url));
  await before.opened(1);
  await server.query(
    `insert into holdfast.migrations (version, name, checksum) values (999, 'from the future', 'none of ours')`,
    nameOf(url),
  );
  const progress: string[] = [];
  const store = await opened(url, progress);
  const turn = new Turn(store, { names: before.names });
  await turn.opened(1);
  await turn.commit(1, 0);
  expect(progress).toEqual([]);
  expect(await store.sessions.readEvents(before.names)).toHaveLength(3);
});

test.each([['another text', `update holdfast.migrations set checksum = 'other' where version = 1`]])(
  'a store whose migrations have %s is refused [store.migrate]',
  async (_what, change) => {
    const url = await server.newDatabase();
    await opened(url);
    await server.query(change, nameOf(url));
    await expect(openStore({ url })).rejects.toMatchObject({
      code: 'HOLDFAST_STORE_SCHEMA_MISMATCH',
      name: 'StoreSchemaMismatch',
      retryable: false,
      message: expect.stringMatching(/test_\d+\).*migration 1 .*release's; use another database/),
    });
  },
);

if (isDeep) {
  test('an embedded store of an unreleased version is refused by its folder [store.migrate]', async () => {
    const folder = folderWithStore();
    const store = await openStore({ folder });
    await sql`update holdfast.migrations set checksum = 'other'`.execute(store.db);
    await store.close();
    await expect(openStore({ folder })).rejects.toMatchObject({
      code: 'HOLDFAST_STORE_SCHEMA_MISMATCH',
      message: expect.stringContaining(folder),
    });
  });
}

test('a store of the release before is migrated while its workers go on, and they go on after it [store.migrate]', async () => {
  const url = await server.newDatabase();
  const store = await opened(url);
  const turn = new Turn(store);
  await turn.opened(1);
  const progress: string[] = [];
  await migrate(
    pooled(url),
    (line) => progress.push(line),
    next('alter table holdfast.sessions add column note text'),
  );
  expect(progress).toEqual([`migrating the store from version ${LATEST}`]);
  await turn.commit(1, 0);
  expect(await turn.events()).toHaveLength(2);
});

test('a migration that waits for a long transaction lets others read, says so, and is made in the end [store.migrate]', async () => {
  const url = await server.newDatabase();
  const store = await opened(url);
  const turn = new Turn(store);
  await turn.opened(1);
  const backup = await connected(url);
  await backup.query('begin');
  await backup.query('lock table holdfast.sessions in access share mode');
  const progress: string[] = [];
  const migrating = migrate(
    pooled(url),
    (line) => progress.push(line),
    next('alter table holdfast.sessions add column note text'),
  );
  await expect.poll(() => progress).toContain('waiting for a transaction that holds a table of the store');
  await turn.commit(1, 0);
  await backup.query('commit');
  await migrating;
  expect((await applied(url)).at(-1)).toEqual({ version: LATEST + 1 });
});

if (isDeep) {
  test('a migration may take longer than other statements, and one that fails leaves nothing [store.migrate]', async () => {
    const url = await server.newDatabase();
    await opened(url);
    const slow = pooled(url, 1_000);
    const failing = next('create table holdfast.half (id int); select pg_sleep(1.3); select 1 / 0');
    await expect(migrate(slow, () => undefined, failing)).rejects.toThrow('division by zero');
    expect(await server.query(`select from pg_class where relname = 'half'`, nameOf(url))).toEqual([]);
    const working = next('create table holdfast.half (id int); select pg_sleep(1.3)');
    await migrate(slow, () => undefined, working);
    expect((await applied(url)).at(-1)).toEqual({ version: LATEST + 1 });
  });
}

test('a role that may not make schemas is given one', async () => {
  const url = new URL(await server.newDatabase());
  await server.query(
    `create role clerk login password 'of clerk'; create schema holdfast authorization clerk`,
    nameOf(url.href),
  );
  url.username = 'clerk';
  url.password = 'of clerk';
  await new Turn(await opened(url.href)).opened(1);
});

test('a role that only reads and writes rows works on what another has made, and is told that it may not migrate it', async () => {
  const url = new URL(await server.newDatabase());
  await opened(url.href);
  await server.query(
    `create role teller login password 'of teller';
     grant usage on schema holdfast to teller;
     grant select, insert, update, delete on all tables in schema holdfast to teller`,
    nameOf(url.href),
  );
  url.username = 'teller';
  url.password = 'of teller';
  const turn = new Turn(await opened(url.href));
  await turn.opened(1);
  await turn.commit(1, 0);
  const changed = next('alter table holdfast.sessions add column note text');
  await expect(migrate(pooled(url.href), () => undefined, changed)).rejects.toThrow(
    /must be owner of table sessions/,
  );
  await server.query(`update holdfast.functions set checksum = 'other' where name = 'job'`, nameOf(url.href));
  await expect(openStore({ url: url.href })).rejects.toThrow(/permission denied for schema holdfast/);
});

test('a function that is recorded and gone is made again [store.migrate]', async () => {
  const url = await server.newDatabase();
  await opened(url);
  await server.query('drop function holdfast.open_job(json)', nameOf(url));
  const progress: string[] = [];
  await opened(url, progress);
  expect(progress).toEqual(['replacing functions of the store']);
  expect(await server.query(`select from pg_proc where proname = 'open_job'`, nameOf(url))).toHaveLength(1);
});
