import { PGlite } from '@electric-sql/pglite';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { servePglite } from '../../src/store/engine/pglite-server.ts';
import { makePrivateSocket } from '../../src/store/engine/private-socket.ts';
import { openPostgresStore, type PostgresStore } from '../../src/store/postgres-store.ts';
import { Turn } from './suite/turns/turn.ts';

const socket = makePrivateSocket();
const crashes: unknown[] = [];
const database = await PGlite.create();
let server = await servePglite(database, socket.path, (error) => crashes.push(error));
let store: PostgresStore;
let clients: pg.PoolClient[] = [];

beforeAll(async () => {
  const pool = new pg.Pool({
    stream: () => socket.connection(),
    max: 1,
    user: 'postgres',
    database: 'postgres',
  });
  pool.on('connect', (client) => clients.push(client));
  store = await openPostgresStore(pool, { place: 'a test' });
});

afterAll(async () => {
  await store.close();
  await server.stop();
  await database.close();
  socket.remove();
  expect(crashes).toEqual([]);
});

async function restart(): Promise<void> {
  await server.stop();
  server = await servePglite(database, socket.path, (error) => crashes.push(error));
}

test('a connection that the server drops while it is idle is replaced', async () => {
  const turn = new Turn(store);
  await turn.opened(1);
  await restart();
  await turn.commit(1, 1);
  await restart();
  expect(await turn.begin(1, 0)).toMatchObject({ kind: 'started', attempt: 1, unknown: false });
  await restart();
  expect(await turn.settle(1, 0, { ok: true })).toMatchObject({ first: true });
  expect(await turn.events()).toHaveLength(2);
});

test('a connection that drops during a call costs nothing: the call is sent again, and counts once [store.reconnect]', async () => {
  const turn = new Turn(store);
  for (const [step, cut] of [
    [1, 0],
    [2, 1],
    [3, 2],
  ] as const) {
    clients = clients.slice(-1);
    const dropSoon = () => {
      const { stream } = (clients.at(-1) as unknown as { connection: { stream: { destroy(): void } } })
        .connection;
      setTimeout(() => stream.destroy(), cut);
    };
    dropSoon();
    await turn.opened(step);
    dropSoon();
    await turn.commit(step, 1);
    dropSoon();
    expect(await turn.begin(step, 0)).toMatchObject({ attempt: 1, unknown: false });
    dropSoon();
    expect(await turn.settle(step, 0, { step })).toMatchObject({ first: true, response: { step } });
  }
  const events = await turn.events();
  expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
});

test('a transaction whose client goes away is rolled back', async () => {
  const lost = new pg.Client({ stream: () => socket.connection(), user: 'postgres', database: 'postgres' });
  lost.on('error', () => undefined);
  await lost.connect();
  await lost.query('begin');
  await lost.query(`insert into holdfast.app_state values ('k', '', 'a', 'lost', '1')`);
  (lost as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  const turn = new Turn(store);
  await turn.opened(1);
  const { rows } = await database.query(`select * from holdfast.app_state where key = 'lost'`);
  expect(rows).toEqual([]);
});

test('a server that is gone is unavailable, and comes back [store.reconnect]', async () => {
  await server.stop();
  const turn = new Turn(store);
  await expect(turn.open(1)).rejects.toMatchObject({
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    retryable: true,
    message: expect.stringContaining('a test'),
  });
  server = await servePglite(database, socket.path, (error) => crashes.push(error));
  await turn.opened(1);
});
