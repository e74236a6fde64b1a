import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { inTier } from '../setup/tier.ts';
import { Turn } from './suite/turns/turn.ts';
import { folderWithStore, temporaryFolder } from './temporary-folder.ts';

const server = await startPostgresServer();
afterAll(() => server.close());

/** A database that can be put back to an older state. Backups are made while it is closed. */
interface Restorable {
  open(): Promise<OpenedStore>;
  /** @returns opens what was there when this was called. */
  backUp(): Promise<() => Promise<OpenedStore>>;
}

const BEHIND = { name: 'StoreBehindHistory', code: 'HOLDFAST_STORE_BEHIND_HISTORY', retryable: true };

const kinds: [string, () => Promise<Restorable>][] = [
  [
    'PostgreSQL',
    async () => {
      const url = await server.newDatabase();
      return {
        open: () => openStore({ url }),
        backUp: async () => {
          const copy = await server.newDatabase(new URL(url).pathname.slice(1));
          return () => openStore({ url: copy });
        },
      };
    },
  ],
  [
    'PGlite',
    async () => {
      const folder = folderWithStore();
      return {
        open: () => openStore({ folder }),
        backUp: async () => {
          const copy = temporaryFolder();
          cpSync(join(folder, 'store'), join(copy, 'store'), { recursive: true });
          return () => openStore({ folder: copy });
        },
      };
    },
  ],
];

describe.each(kinds.slice(0, inTier(1, 2)))('%s, restored from an older backup', (_kind, make) => {
  test('no call of a turn goes on with less than it has seen; with the right data back it does [store.restored]', async () => {
    const database = await make();
    let store = await database.open();
    const names = new Turn(store).names;
    const earlier = new Turn(store, { names });
    await earlier.opened(1);
    await earlier.commit(1, 0);
    await store.close();
    const restored = await database.backUp();

    store = await database.open();
    const turn = new Turn(store, { names });
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    await turn.settle(1, 0, { paid: true });
    await turn.opened(2);
    await turn.commit(2, 1);
    const next = new Turn(store);
    await next.opened(1);
    await next.commit(1, 1);
    await store.close();
    const whole = await database.backUp();

    const behind = await restored();
    for (const late of [turn, next]) {
      const on = moved(late, behind);
      const { seq } = on;
      await expect(on.open(2), 'openStep').rejects.toMatchObject(BEHIND);
      await expect(on.commit(2, 0), 'commitStep').rejects.toMatchObject(BEHIND);
      await expect(on.begin(2, 0), 'beginCall').rejects.toMatchObject(BEHIND);
      await expect(on.settle(2, 0, { paid: true }), 'settleCall').rejects.toMatchObject(BEHIND);
      await expect(settled(on), 'settleStep').rejects.toMatchObject(BEHIND);
      expect(on.seq).toBe(seq);
    }
    // A first step that has seen more of the session than there is.
    const first = new Turn(behind, { names });
    first.seq = turn.seq;
    await expect(first.open(1)).rejects.toMatchObject(BEHIND);
    expect((await behind.sessions.readEvents(names)).map(({ seq }) => seq)).toEqual([1, 2]);
    await behind.close();

    const right = await whole();
    const on = moved(turn, right);
    expect(await on.begin(2, 0)).toMatchObject({ kind: 'started', attempt: 1 });
    await on.settle(2, 0, { paid: true });
    expect(await on.opened(3)).toMatchObject({ attempt: 1 });
    expect(await on.commit(3, 0)).toMatchObject({ kind: 'committed' });
    const seqs = (await right.sessions.readEvents(names)).map(({ seq }) => seq);
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    await right.close();
  });
});

/** The end of its step 2, as the workflow asks for it. */
function settled({ store, session, invocationId, fence, seq }: Turn): Promise<unknown> {
  return store.turns.settleStep({
    session,
    invocationId,
    runKey: invocationId,
    step: 2,
    fence,
    seq,
    agent: 'clerk',
    unsettled: [],
  });
}

/** The same turn, on another store. */
function moved(turn: Turn, store: OpenedStore): Turn {
  const on = new Turn(store, { names: turn.names, messageId: turn.messageId, fence: turn.fence });
  on.session = turn.session;
  on.seq = turn.seq;
  return on;
}
