import { randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { StoreUnavailable } from '../../src/store/store-errors.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { makeSmallDisk } from './small-disk.ts';
import { newNames, Turn } from './suite/turn.ts';
import { temporaryFolder } from './temporary-folder.ts';

const MOST_TURNS = 2_000;

/** Megabytes left: a table can't grow, or the log can't while tables still could. */
const cases = [
  ['a table', 2],
  ['the log', 12],
] as const;

/** One session that grows by 200 kB with each turn. */
class GrowingSession {
  readonly names = newNames();
  readonly acknowledged: number[] = [];
  store: OpenedStore;

  constructor(store: OpenedStore) {
    this.store = store;
  }

  async grow(turns: number): Promise<void> {
    for (let done = 0; done < turns; done += 1) {
      const turn = new Turn(this.store, { names: this.names });
      const text = randomBytes(100_000).toString('hex');
      this.acknowledged.push((await turn.opened(1, { text })).seq);
      this.acknowledged.push((await turn.commit(1, 0)).seq);
    }
  }

  growUntilItFails(): Promise<unknown> {
    return this.grow(MOST_TURNS).then(
      () => expect.fail('the disk was never full'),
      (error: unknown) => error,
    );
  }

  /** Nothing that was acknowledged is lost, and there is no gap. */
  async check(): Promise<void> {
    const seqs = (await this.store.readEvents({ ...this.names, limit: 100_000 })).map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(this.acknowledged.filter((seq) => seq > seqs.length)).toEqual([]);
    expect(this.acknowledged.length).toBeGreaterThan(10);
  }
}

function expectFull(error: unknown, place: string): void {
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect(error).toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE', retryable: true });
  expect((error as Error).message).toContain('the disk is full');
  expect((error as Error).message).toContain(place);
}

const disk = makeSmallDisk(128);

if ('reason' in disk) {
  test.skip(`a full disk: ${disk.reason}`, () => undefined);
} else {
  afterAll(() => disk.remove());

  describe('PGlite', async () => {
    const initialised = temporaryFolder();
    await (await openStore({ folder: initialised })).close();

    test.each(cases)(
      '%s can not grow: a clear error, then the same store goes on [store.full]',
      async (_what, megabytes) => {
        const folder = join(disk.folder, `pglite-${megabytes}`);
        cpSync(initialised, folder, { recursive: true });
        disk.fill(megabytes);
        const session = new GrowingSession(await openStore({ folder }));
        expectFull(await session.growUntilItFails(), folder);
        expectFull(await session.growUntilItFails(), folder);
        disk.makeRoom();
        await session.grow(3);
        await session.check();
        await session.store.close();
        session.store = await openStore({ folder });
        await session.check();
        await session.store.close();
      },
    );

    test('a store can not be made: a clear error, then it is made [store.full]', async () => {
      disk.fill(8);
      const folder = join(disk.folder, 'pglite-new');
      expectFull(await openStore({ folder }).catch((error: unknown) => error), folder);
      disk.makeRoom();
      await (await openStore({ folder })).close();
    });
  });
}

describe('PostgreSQL', async () => {
  const ownDisk = makeSmallDisk(256);
  if ('reason' in ownDisk) {
    test.skip(`a full disk: ${ownDisk.reason}`, () => undefined);
    return;
  }
  const server = await startPostgresServer({ parent: ownDisk.folder });
  afterAll(async () => {
    await server.close();
    ownDisk.remove();
  });

  test.each(cases)(
    '%s can not grow: a clear error, then the same store goes on [store.full]',
    async (_what, megabytes) => {
      const url = await server.newDatabase();
      const store = await openStore({ url });
      await server.query('checkpoint');
      ownDisk.fill(megabytes);
      const session = new GrowingSession(store);
      expectFull(await session.growUntilItFails(), new URL(url).pathname.slice(1));
      ownDisk.makeRoom();
      // One that could not recover for want of space has ended.
      await server.start();
      await expect.poll(() => session.grow(3).then(() => 'works', String), { timeout: 30_000 }).toBe('works');
      await session.check();
      await store.close();
    },
  );
});
