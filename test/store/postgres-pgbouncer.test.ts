import { sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { findPgBouncer, startPgBouncer } from '../setup/pgbouncer.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { isDeep } from '../setup/tier.ts';
import { SteadyTurns } from './steady-turns.ts';
import { storeSuite } from './suite/store-suite.ts';
import { Turn } from './suite/turns/turn.ts';

const program = findPgBouncer();

if (program === undefined) {
  test.skip('behind PgBouncer: there is no pgbouncer on PATH or in /usr/sbin', () => undefined);
} else {
  const server = await startPostgresServer();
  afterAll(() => server.close());
  const modes = program.tracksStatements
    ? [
        { name: 'prepared statements lost', settings: { max_prepared_statements: 0 } },
        { name: 'prepared statements kept', settings: { max_prepared_statements: 100 } },
      ]
    : [{ name: 'prepared statements lost', settings: {} }];

  for (const { name, settings } of modes) {
    const bouncer = await startPgBouncer(program, server, settings);
    afterAll(() => bouncer.close());
    const newUrl = async () => bouncer.urlOf(new URL(await server.newDatabase()).pathname.slice(1));

    // Its statements are the same as without it: what it may lose of them, those below show in a moment.
    if (isDeep)
      storeSuite(`the store behind PgBouncer ${program.version}, ${name} [store.postgres]`, async () =>
        openStore({ url: await newUrl() }),
      );

    describe(`PgBouncer ${program.version}, ${name}`, () => {
      test('processes that open a store together migrate it once, and write at once [store.postgres]', async () => {
        const url = await newUrl();
        const stores = await Promise.all(Array.from({ length: 5 }, () => openStore({ url, poolSize: 20 })));
        await Promise.all(stores.flatMap((store) => Array.from({ length: 20 }, () => runTurn(store))));
        const { rows } = await sql`select version from holdfast.migrations`.execute(firstOf(stores).db);
        expect(rows.length).toBe(new Set(rows.map((row) => (row as { version: number }).version)).size);
        await Promise.all(stores.map((store) => store.close()));
      });

      if (isDeep) {
        test('the server behind it is killed under load: calls succeed or are unavailable [store.postgres]', async () => {
          const store = await openStore({ url: await newUrl() });
          const load = new SteadyTurns(store);
          await load.more();
          for (let times = 0; times < 2; times += 1) {
            await server.kill();
            await server.start();
            await load.more();
          }
          await load.end();
          console.log(`${load.turns} turns, ${load.failures.length} calls unavailable`);
          await store.close();
        });
      }

      test('a database that was not there when the store was opened is unavailable, by name', async () => {
        await expect(openStore({ url: bouncer.urlOf('nowhere') })).rejects.toMatchObject({
          code: 'HOLDFAST_STORE_UNAVAILABLE',
          message: expect.stringContaining('nowhere'),
        });
      });
    });
  }
}

async function runTurn(store: OpenedStore): Promise<void> {
  const turn = new Turn(store);
  await turn.opened(1);
  await turn.commit(1, 2);
  await Promise.all([turn.begin(1, 0), turn.begin(1, 1)]);
  await Promise.all([turn.settle(1, 0, { n: 0 }), turn.settle(1, 1, { n: 1 })]);
  expect(await turn.opened(2)).toMatchObject({ attempt: 1, seq: 3 });
  await turn.commit(2, 0);
  expect((await turn.events()).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
}

function firstOf(stores: readonly OpenedStore[]): OpenedStore {
  const [first] = stores;
  if (first === undefined) throw new Error('no store was opened');
  return first;
}
