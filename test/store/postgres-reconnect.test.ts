import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { inTier } from '../setup/tier.ts';
import { SteadyTurns } from './steady-turns.ts';

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

const interruptions: [string, () => Promise<unknown>][] = [
  ['is killed', () => server.kill().then(server.start)],
  ['is restarted', () => server.stop().then(server.start)],
  ['loses all connections', () => server.query(TERMINATE)],
  ['loses one backend to SIGKILL, and recovers', killBackend],
];

const TERMINATE = `
  select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'holdfast'`;

async function killBackend(): Promise<void> {
  const [backend] = await server.query<{ pid: number }>(
    `select pid from pg_stat_activity where application_name = 'holdfast' limit 1`,
  );
  if (backend === undefined) throw new Error('the store has no connection');
  process.kill(backend.pid, 'SIGKILL');
}

test.each(interruptions.slice(0, inTier(1, interruptions.length)))(
  'a server under load %s: calls succeed or are unavailable, and nothing is lost [store.postgres]',
  async (_name, interrupt) => {
    const load = new SteadyTurns(store);
    await load.more();
    for (let times = 0; times < 3; times += 1) {
      await interrupt();
      await load.more();
    }
    await load.end();
    console.log(`${load.turns} turns, ${load.failures.length} calls unavailable`);
    for (const error of load.failures) {
      expect(error).toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE', retryable: true });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(server.password);
    }
  },
);

test('a server that is down is unavailable by name, and the store works again by itself once it is up [store.unavailable]', async () => {
  await server.stop();
  await expect(store.sessions.readEvents({ app: 'a', userId: 'u', sessionId: 's' })).rejects.toMatchObject({
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    message: expect.stringMatching(/PostgreSQL at 127\.0\.0\.1:\d+, database test_1.*ECONNREFUSED/),
  });
  await server.start();
  expect(await store.sessions.readEvents({ app: 'a', userId: 'u', sessionId: 's' })).toEqual([]);
});
