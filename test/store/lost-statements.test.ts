import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { Turn } from './suite/turns/turn.ts';
import { folderWithStore } from './temporary-folder.ts';

const folder = folderWithStore();
let store: OpenedStore;

beforeAll(async () => {
  store = await openStore({ folder });
});

afterAll(() => store.close());

/** What a pooler does that hands the next statement to another connection. */
async function lose(): Promise<void> {
  await sql`deallocate all`.execute(store.db);
}

async function prepared(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_prepared_statements where name like 'holdfast%'`.execute(store.db);
  return rows[0]?.n ?? 0;
}

test('calls whose prepared statements are lost are sent again whole, and count once [store.reconnect]', async () => {
  const before = new Turn(store);
  await before.opened(1);
  await before.commit(1, 1);
  await before.begin(1, 0);
  await before.settle(1, 0, { ok: true });
  expect(await prepared()).toBeGreaterThan(3);

  const turn = new Turn(store);
  await lose();
  expect(await turn.opened(1)).toMatchObject({ attempt: 1, seq: 1 });
  await lose();
  expect(await turn.commit(1, 2)).toMatchObject({ kind: 'committed', seq: 2 });
  await lose();
  expect(await turn.begin(1, 0)).toMatchObject({ attempt: 1, unknown: false });
  await lose();
  expect(await turn.settle(1, 0, { n: 0 })).toMatchObject({ first: true });
  await lose();
  expect(await Promise.all([turn.begin(1, 0), turn.begin(1, 1)])).toMatchObject([
    { kind: 'settled', response: { n: 0 } },
    { kind: 'started', attempt: 1 },
  ]);
  await turn.settle(1, 1, { n: 1 });
  expect(await turn.opened(2)).toMatchObject({ attempt: 1, seq: 3 });
  expect((await turn.events()).map(({ seq, kind }) => [seq, kind])).toEqual([
    [1, 'message'],
    [2, 'model'],
    [3, 'responses'],
  ]);
  expect(await prepared()).toBe(0);
});
