import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../src/store/engine/database.ts';
import { migrate } from '../../src/store/engine/migrate.ts';
import { pgliteConfig } from '../../src/store/engine/open-pool.ts';
import { PathSocket } from '../../src/store/engine/private-socket.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { checksumOf, STORE_SCHEMA, versionOf } from '../../src/store/schema/store-schema.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { isDeep } from '../setup/tier.ts';
import { NEXT_FUNCTIONS, NEXT_RELEASE } from './next-release.ts';
import { JobTurn } from './suite/jobs/job-turn.ts';
import { Turn } from './suite/turns/turn.ts';
import { folderWithStore } from './temporary-folder.ts';

const WORKER = fileURLToPath(new URL('./release-process.ts', import.meta.url));
const VERSION = versionOf(STORE_SCHEMA);

const server = await startPostgresServer();
afterAll(() => server.close());

/** A worker process of a release. */
class Worker {
  readonly lines: string[] = [];
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #exited: Promise<unknown[]>;

  constructor(url: string, release: 'this' | 'next') {
    this.#process = spawn(process.execPath, [WORKER, url, release], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#exited = once(this.#process, 'exit');
    onTestFinished(() => void this.#process.kill('SIGKILL'));
    createInterface({ input: this.#process.stdout }).on('line', (line) => this.lines.push(line));
  }

  get progress(): string[] {
    return this.#after('progress');
  }

  async opened(): Promise<void> {
    await expect.poll(() => this.#after('open')).toHaveLength(1);
  }

  /** Until some more of its turns have ended. */
  async moreTurns(): Promise<void> {
    const count = () => {
      this.#process.stdin.write('turns\n');
      return Number(this.#after('turns').at(-1) ?? 0);
    };
    const enough = count() + 5;
    await expect.poll(count).toBeGreaterThanOrEqual(enough);
  }

  /** Ends its turns, and checks that none had to wait or has lost anything. */
  async finish(): Promise<void> {
    this.#process.stdin.write('finish\n');
    expect(await this.#exited).toEqual([0, null]);
    expect(this.#after('failures')).toEqual(['']);
  }

  #after(what: string): string[] {
    return this.lines
      .filter((line) => line.startsWith(`${what} `))
      .map((line) => line.slice(what.length + 1));
  }
}

function pooled(config: pg.PoolConfig): Database {
  const database = new Database(new pg.Pool(config), { prepares: false });
  onTestFinished(() => database.close());
  return database;
}

async function functionsOf(url: string): Promise<Map<string, string>> {
  const rows = await server.query<{ name: string; checksum: string }>(
    'select name, checksum from holdfast.functions',
    new URL(url).pathname.slice(1),
  );
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

const checksums = (functions: ReadonlyMap<string, string>) =>
  new Map([...functions].map(([name, text]) => [name, checksumOf(text)]));

test('a store is upgraded to the next release while workers of both run, and each finishes its turns [store.upgrade]', async () => {
  const url = await server.newDatabase();
  const before = new Worker(url, 'this');
  await before.opened();
  expect(before.progress).toEqual(['creating the store']);
  await before.moreTurns();
  const next = new Worker(url, 'next');
  await next.opened();
  expect(next.progress).toEqual([`migrating the store from version ${VERSION}`]);
  await Promise.all([before.moreTurns(), next.moreTurns()]);

  const again = new Worker(url, 'this');
  await again.opened();
  expect(again.progress).toEqual([]);
  expect(await functionsOf(url)).toEqual(checksums(NEXT_RELEASE.functions));
  await again.moreTurns();
  await Promise.all([before, next, again].map((worker) => worker.finish()));

  const database = new URL(url).pathname.slice(1);
  expect(await server.query('select label, jobs from holdfast.labels order by 1', database)).toEqual([
    { label: 'blue', jobs: 1 },
    { label: 'none', jobs: 2 },
  ]);
  expect(
    await server.query(
      `select p.proname from pg_proc p where p.pronamespace = 'holdfast'::regnamespace group by 1 having count(*) > 1`,
      database,
    ),
  ).toEqual([]);
});

test('a statement under which a function is replaced by one of other parameters is repeated [store.upgrade]', async () => {
  const url = await server.newDatabase();
  const store = await openStore({ url });
  onTestFinished(() => store.close());
  const turn = new JobTurn(store);
  await turn.calling();
  const { jobId } = await turn.openJob(0);
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  onTestFinished(() => holder.end());
  await holder.query('begin');
  await holder.query('select from holdfast.jobs where job_id = $1 for update', [jobId]);
  const address = { workflowId: 'w', runId: 'r', activityId: 'a' };
  const waiting = store.jobs.await({ session: turn.session, jobId, address });
  const blocked = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%await_job%'`;
  await expect.poll(() => server.query(blocked)).toHaveLength(1);
  await migrate(pooled({ connectionString: url, max: 1 }), () => undefined, NEXT_FUNCTIONS);
  await holder.query('commit');
  expect(await waiting).toMatchObject({ jobId, address });
});

test('both releases make an empty database together, and each has its functions [store.upgrade]', async () => {
  const url = await server.newDatabase();
  const next = pooled({ connectionString: url, max: 1 });
  onTestFinished(() => next.close());
  const [store] = await Promise.all([openStore({ url }), migrate(next, () => undefined, NEXT_RELEASE)]);
  onTestFinished(() => store.close());
  const turn = new Turn(store);
  await turn.opened(1);
  await turn.commit(1, 0);
  expect(await functionsOf(url)).toEqual(checksums(NEXT_RELEASE.functions));
});

test('a next release that was killed between its tables and its functions leaves a store that works [store.upgrade]', async () => {
  const url = await server.newDatabase();
  const next = pooled({ connectionString: url, max: 1 });
  onTestFinished(() => next.close());
  await migrate(next, () => undefined, { ...NEXT_RELEASE, functions: new Map() });
  const store = await openStore({ url });
  onTestFinished(() => store.close());
  const turn = new Turn(store);
  await turn.opened(1);
  await migrate(next, () => undefined, NEXT_RELEASE);
  await turn.commit(1, 0);
  expect(await functionsOf(url)).toEqual(checksums(NEXT_RELEASE.functions));
});

test('a column more has statements prepared anew, and no others sent without a name [store.upgrade]', async () => {
  const url = await server.newDatabase();
  const database = new Database(new pg.Pool({ connectionString: url, max: 2 }));
  onTestFinished(() => database.close());
  await server.query('create table t (a int); insert into t values (1)', new URL(url).pathname.slice(1));
  const all = 'select * from t';
  const names = () => database.query('select name from pg_prepared_statements order by name');
  expect(await database.query(all)).toEqual([{ a: 1 }]);
  const [first, own] = (await names()) as { name: string }[];
  await database.query('alter table t add column b int default 2');
  expect(await Promise.all([all, all, all].map((text) => database.query(text)))).toEqual(
    Array(3).fill([{ a: 1, b: 2 }]),
  );
  await database.query('alter table t add column c int');
  expect(await database.query(all)).toEqual([{ a: 1, b: 2, c: null }]);
  const named = (await names()) as { name: string }[];
  expect(named).toContainEqual(own);
  expect(named).toContainEqual({ name: expect.stringMatching(`^(${first?.name}|${own?.name})_3$`) });
});

if (isDeep) {
  test('an embedded store of the release before is upgraded, and opened by both [store.upgrade]', async () => {
    const folder = folderWithStore();
    const opened = async (progress: string[]): Promise<OpenedStore> => {
      const store = await openStore({ folder, onProgress: (line) => progress.push(line) });
      onTestFinished(() => store.close());
      return store;
    };
    const store = await opened([]);
    const turn = new JobTurn(store);
    await turn.calling();
    const connection = pgliteConfig(() => new PathSocket(async () => store.socket as string), {});
    const next = pooled({ ...connection, application_name: 'next' });
    const progress: string[] = [];
    await migrate(next, (line) => progress.push(line), NEXT_RELEASE);
    expect(progress).toEqual([`migrating the store from version ${VERSION}`]);
    await turn.parked(0);
    await turn.endJob(0);
    await next.close();
    await store.close();

    const told: string[] = [];
    const again = await opened(told);
    expect(told.filter((line) => /migrat|replac|creat/.test(line))).toEqual([]);
    const later = new Turn(again, { names: turn.names });
    await later.opened(1);
    await later.commit(1, 0);
    const { rows } = await sql`select label, jobs from holdfast.labels`.execute(again.db);
    expect(rows).toEqual([{ label: 'none', jobs: 1 }]);
  });
}
