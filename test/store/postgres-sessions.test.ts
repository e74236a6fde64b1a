import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { newNames, Turn } from './suite/turns/turn.ts';

const server = await startPostgresServer();
let store: OpenedStore;
let url: string;

beforeAll(async () => {
  url = await server.newDatabase();
  store = await openStore({ url });
});

afterAll(async () => {
  await store.close();
  await server.close();
});

async function withClient<T>(run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

async function waiting(): Promise<number> {
  const rows = await server.query(`select from pg_stat_activity where wait_event_type = 'Lock'`);
  return rows.length;
}

async function ended(names: SessionNames): Promise<void> {
  const turn = new Turn(store, { names });
  await turn.opened(1);
  await turn.commit(1, 0);
}

type Send = (query: pg.QueryConfig) => Promise<pg.QueryResult>;

/** A store that sends one of its statements through `around`, the first time. */
async function interposed(
  statement: string,
  around: (query: pg.QueryConfig, send: Send) => Promise<pg.QueryResult>,
): Promise<PostgresStore> {
  const pool = new pg.Pool({ connectionString: url });
  let done = false;
  onTestFinished(() => expect(done, `a statement with ${statement}`).toBe(true));
  pool.on('connect', (client) => {
    const send = client.query.bind(client) as Send;
    client.query = ((query: pg.QueryConfig) => {
      if (done || query.text?.includes(statement) !== true) return send(query);
      done = true;
      return around(query, send);
    }) as typeof client.query;
  });
  return await openPostgresStore(pool);
}

test('a fork locks its session for no longer than it is written, however long its events are read [session.fork]', async () => {
  const names = newNames();
  await ended(names);
  await withClient(async (client) => {
    await client.query('begin; lock table holdfast.events in access exclusive mode');
    const fork = store.sessions.fork({ ...names, to: 'fork' });
    await expect.poll(waiting).toBe(1);
    await server.query(
      `select from holdfast.sessions where app = '${names.app}' for update nowait`,
      new URL(url).pathname.slice(1),
    );
    await client.query('commit');
    expect(await fork).toMatchObject({ seq: 2, sessionId: 'fork' });
  });
});

test('a fork that is sent again while the first one still executes is the same fork [session.fork]', async () => {
  const names = newNames();
  await ended(names);
  await withClient(async (client) => {
    const repeating = await interposed('holdfast.fork_session(', async (query, send) => {
      await client.query('begin');
      await client.query(query.text, query.values);
      const again = send(query);
      await expect.poll(waiting).toBe(1);
      await client.query('commit');
      return await again;
    });
    expect(await repeating.sessions.fork({ ...names, to: 'fork' })).toMatchObject({
      sessionId: 'fork',
      seq: 2,
    });
    await repeating.close();
  });
  await expect(store.sessions.fork({ ...names, to: 'fork' })).rejects.toMatchObject({
    code: 'HOLDFAST_SESSION_EXISTS',
  });
});

test('a deletion whose answer is lost leaves the session that was made meanwhile [session.delete]', async () => {
  const names = newNames();
  await ended(names);
  const repeating = await interposed('holdfast.delete_session(', async (query, send) => {
    await send(query);
    await store.sessions.create({ ...names, state: { made: 'meanwhile' } });
    throw new Error('Connection terminated unexpectedly');
  });
  expect(await repeating.sessions.delete(names)).toEqual([names]);
  await repeating.close();
  expect(await store.sessions.get(names)).toMatchObject({ seq: 0, state: { made: 'meanwhile' } });
});
