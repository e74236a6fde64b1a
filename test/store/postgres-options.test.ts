import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { Turn } from './suite/turns/turn.ts';

const server = await startPostgresServer();
afterAll(() => server.close());

let url: string;
beforeAll(async () => {
  url = await server.newDatabase();
});

test.each([
  [{ poolSize: 0 }, 'poolSize'],
  [{ poolSize: 2.5 }, 'poolSize'],
  [{ connectTimeout: -1 }, 'connectTimeout'],
  [{ queryTimeout: '5s' as unknown as number }, 'queryTimeout'],
  [{ queryTimeout: 2 ** 31 }, 'queryTimeout'],
])('an option that makes no sense is refused by its name: %o', async (options, field) => {
  await expect(openStore({ url, ...options })).rejects.toMatchObject({
    code: 'HOLDFAST_DEFINITION',
    owner: 'openStore',
    field,
  });
});

test('a store takes as many connections as its pool has, and calls beyond wait for one [store.postgres]', async () => {
  const store = await openStore({ url, poolSize: 3 });
  await Promise.all(
    Array.from({ length: 30 }, async () => {
      const turn = new Turn(store);
      await turn.opened(1);
      await turn.commit(1, 0);
    }),
  );
  const connections = await server.query(
    `select application_name from pg_stat_activity where application_name = 'holdfast'`,
  );
  expect(connections).toHaveLength(3);
  await store.close();
});

test('a statement that hangs and a pool that is used up are unavailable, each by its reason [store.unavailable]', async () => {
  const store = await openStore({ url, poolSize: 1, connectTimeout: 5_000, queryTimeout: 8_000 });
  const turn = new Turn(store);
  await turn.opened(1);
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('begin');
  await other.query('select from holdfast.sessions where id = $1 for update', [turn.session]);
  const [hanging, waiting] = await Promise.allSettled([turn.commit(1, 0), turn.events()]);
  expect(hanging).toMatchObject({
    reason: {
      code: 'HOLDFAST_STORE_UNAVAILABLE',
      retryable: true,
      message: expect.stringContaining('no answer within 8000 ms'),
    },
  });
  expect(waiting).toMatchObject({
    reason: {
      code: 'HOLDFAST_STORE_UNAVAILABLE',
      retryable: true,
      message: expect.stringContaining('no connection within 5000 ms: all are in use'),
    },
  });
  await other.query('commit');
  await other.end();
  expect(await turn.commit(1, 0)).toMatchObject({ seq: 2 });
  expect(await turn.events()).toHaveLength(2);
  await store.close();
});
