import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { StoreUnavailable } from '../../src/store/store-errors.ts';
import { putStore } from '../setup/made-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { makeSmallDisk, type SmallDisk } from './small-disk.ts';
import { newNames, Turn } from './suite/turns/turn.ts';

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
    const seqs = (await this.store.sessions.readEvents({ ...this.names, limit: 100_000 })).map(
      ({ seq }) => seq,
    );
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

const probe = makeSmallDisk(1);
const reason = 'reason' in probe ? probe.reason : undefined;
if (!('reason' in probe)) probe.remove();

function smallDisk(megabytes: number): SmallDisk {
  const disk = makeSmallDisk(megabytes);
  if ('reason' in disk) throw new Error(disk.reason);
  onTestFinished(disk.remove);
  return disk;
}

if (reason !== undefined) {
  test.skip(`a full disk: ${reason}`, () => undefined);
} else {
  describe('PGlite', () => {
    test.each(cases)(
      '%s can not grow: a clear error, then the same store goes on [store.full]',
      async (_what, megabytes) => {
        const disk = smallDisk(128);
        const folder = join(disk.folder, 'home');
        putStore(folder);
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
      const disk = smallDisk(128);
      const folder = join(disk.folder, 'home');
      disk.fill(8);
      expectFull(await openStore({ folder }).catch((error: unknown) => error), folder);
      disk.makeRoom();
      await (await openStore({ folder })).close();
    });
  });

  describe('PostgreSQL', () => {
    test.each(cases)(
      '%s can not grow: a clear error, then the same store goes on [store.full]',
      async (_what, megabytes) => {
        const disk = smallDisk(256);
        const server = await startPostgresServer({ parent: disk.folder });
        onTestFinished(() => server.close());
        const url = await server.newDatabase();
        const store = await openStore({ url });
        onTestFinished(() => store.close());
        disk.fill(megabytes);
        const session = new GrowingSession(store);
        expectFull(await session.growUntilItFails(), new URL(url).pathname.slice(1));
        disk.makeRoom();
        const goesOn = async () => {
          // One that could not recover for want of space has ended, or is about to.
          await server.start();
          await session.grow(3);
          return 'works';
        };
        await expect.poll(() => goesOn().catch(String)).toBe('works');
        await session.check();
      },
    );
  });
}
