import { WorkflowFailedError } from '@temporalio/client';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { StoreNeeded } from '../../src/client/client-errors.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { listenersOf } from '../setup/counted-listeners.ts';
import { inTier } from '../setup/tier.ts';
import { type ClientScene, newSession, openClientScene } from './client-scene.ts';

let scene: ClientScene;

beforeAll(async () => {
  scene = await openClientScene();
});
beforeEach(() => scene.held.hold());
afterAll(() => scene.environment.close());

const textOf = ({ event }: StoredEvent) => event.content?.parts?.[0]?.text;

async function collect(events: AsyncIterable<StoredEvent>): Promise<StoredEvent[]> {
  const all: StoredEvent[] = [];
  for await (const stored of events) all.push(stored);
  return all;
}

describe('follow', () => {
  test('gives a session’s events from its first to those to come, without gaps or repeats [message.follow]', async () => {
    const names = newSession();
    const stop = new AbortController();
    const seen: number[] = [];
    const following = (async () => {
      for await (const { seq } of scene.client.follow(names, { signal: stop.signal })) seen.push(seq);
    })();
    for (const message of ['one', 'two', 'three']) {
      await (await scene.client.sendMessage({ ...names, message })).result();
    }
    await expect.poll(() => seen.length).toBe(6);
    stop.abort();
    await following;
    expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('goes on after a seq, for as many readers as there are [message.follow]', async () => {
    const { names, first } = await scene.holding();
    const stop = new AbortController();
    const seen: number[][] = [[], [], []];
    const readers = seen.map(async (seqs, after) => {
      for await (const { seq } of scene.client.follow(names, { after, signal: stop.signal })) seqs.push(seq);
    });
    scene.held.release();
    await first.result();
    await expect
      .poll(() => seen)
      .toEqual([
        [1, 2, 3, 4],
        [2, 3, 4],
        [3, 4],
      ]);
    stop.abort();
    await Promise.all(readers);
  });

  test('a reader that comes and goes at random sees each event once, in order [message.follow]', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 5 }),
        async (stays, messages) => {
          const names = newSession();
          const sent = Array.from({ length: messages }, (_, index) =>
            scene.client.sendMessage({ ...names, message: `m${index}` }),
          );
          const seen: number[] = [];
          for (let visit = 0; seen.length < messages * 2; visit++) {
            let left = stays[visit % stays.length] ?? 1;
            for await (const { seq } of scene.client.follow(names, { after: seen.at(-1) })) {
              seen.push(seq);
              left -= 1;
              if (left === 0 || seen.length === messages * 2) break;
            }
          }
          expect(seen).toEqual(Array.from({ length: messages * 2 }, (_, index) => index + 1));
          await Promise.all(sent.map(async (handle) => await (await handle).result()));
        },
      ),
      { numRuns: inTier(5, 12) },
    );
  });

  test('goes on with the first event of a session that was made again under its names [message.follow]', async () => {
    const names = newSession();
    const answered = async (message: string) => {
      await (await scene.client.sendMessage({ ...names, message })).result();
    };
    const stop = new AbortController();
    const seen: [number, string | undefined][] = [];
    const following = (async () => {
      for await (const stored of scene.client.follow(names, { signal: stop.signal })) {
        seen.push([stored.seq, textOf(stored)]);
      }
    })();
    await answered('one');
    await expect.poll(() => seen.length).toBe(2);
    await scene.client.sessions.delete(names);
    // As long as the one before, then longer.
    await answered('two');
    await expect.poll(() => seen.length).toBe(4);
    await scene.client.sessions.delete(names);
    for (const message of ['three', 'four']) await answered(message);
    await expect
      .poll(() => seen)
      .toEqual([
        [1, 'one'],
        [2, 'answer to one'],
        [1, 'two'],
        [2, 'answer to two'],
        [1, 'three'],
        [2, 'answer to three'],
        [3, 'four'],
        [4, 'answer to four'],
      ]);
    stop.abort();
    await following;
  });

  test('mixes no events of two sessions of one name, whenever one makes way for the other [message.follow]', async () => {
    const names = newSession();
    const answered = async (message: string) => {
      await (await scene.client.sendMessage({ ...names, message })).result();
    };
    await answered('one');
    const { store } = scene.environment;
    const read = store.sessions.readEvents.bind(store);
    const reading = vi.spyOn(store.sessions, 'readEvents').mockImplementationOnce(async (from) => {
      // Between the look at who has the names and the read by them.
      await scene.client.sessions.delete(names);
      for (const message of ['two', 'three']) await answered(message);
      return await read(from);
    });
    const seen: [number, string | undefined][] = [];
    for await (const stored of scene.client.follow(names, { after: 1 })) {
      seen.push([stored.seq, textOf(stored)]);
      if (seen.length === 4) break;
    }
    reading.mockRestore();
    expect(seen).toEqual([
      [1, 'two'],
      [2, 'answer to two'],
      [3, 'three'],
      [4, 'answer to three'],
    ]);
  });

  test('a reader that goes away ends no turn and leaves nothing behind [message.follow]', async () => {
    const { names, first } = await scene.holding();
    const { temporal, store } = scene.environment;
    const counted = listenersOf(store);
    const client = new HoldfastClient({ temporal, store: counted.store });
    for await (const { seq } of client.follow(names)) {
      if (seq === 2) break;
    }
    // Nobody calls return() of this one.
    const dropped = client.follow(names)[Symbol.asyncIterator]();
    expect((await dropped.next()).value).toMatchObject({ seq: 1 });
    expect(counted.count()).toBe(0);
    scene.held.release();
    expect(await first.result()).toMatchObject({ status: 'completed' });
  });

  test('ends at once when its signal is aborted, waiting or not begun [message.follow]', async () => {
    const stop = new AbortController();
    const waiting = collect(scene.client.follow(newSession(), { signal: stop.signal }));
    stop.abort();
    expect(await waiting).toEqual([]);
    expect(await collect(scene.client.follow(newSession(), { signal: stop.signal }))).toEqual([]);
  });

  test('needs the store, and names the option [message.follow]', () => {
    expect(() => scene.plain.follow(newSession())).toThrow(StoreNeeded);
    expect(() => scene.plain.follow(newSession())).toThrow(
      'follow reads the store: give HoldfastClient the option `store`, the one that the workers have',
    );
  });
});

describe('events of a turn', () => {
  test('come in order and end with the turn, those of others left out [message.follow]', async () => {
    const names = newSession();
    await (await scene.client.sendMessage({ ...names, message: 'before' })).result();
    const { first } = await scene.holding(names);
    const queued = await scene.client.sendMessage({ ...names, message: 'queued', messageId: 'm2' });
    const last = await scene.client.sendMessage({ ...names, message: 'last', messageId: 'm3' });
    const following = [first, queued, last].map((turn) => collect(turn.events()));
    scene.held.release();
    const [ofFirst, ofQueued, ofLast] = await Promise.all(following);
    expect(ofFirst?.map(({ seq }) => seq)).toEqual([3, 4, 5, 6]);
    expect(ofQueued?.map(textOf)).toEqual(['queued', 'answer to queued']);
    expect(ofLast?.map(textOf)).toEqual(['last', 'answer to last']);
    expect((await collect(queued.events())).map(({ seq }) => seq)).toEqual([7, 8]);
    expect((await collect(queued.events({ after: 7 }))).map(({ seq }) => seq)).toEqual([8]);
  });

  test('of a turn that was cut off end with what its result throws [message.follow]', async () => {
    const { names, first } = await scene.holding();
    const seen: number[] = [];
    const following = (async () => {
      for await (const { seq } of first.events()) seen.push(seq);
    })();
    following.catch(() => undefined);
    await expect.poll(() => seen).toEqual([1, 2]);
    await scene.environment.temporal.workflow.getHandle(first.workflowId).terminate('by an operator');
    await expect(following).rejects.toThrow(WorkflowFailedError);
    expect(seen).toEqual([1, 2]);
    await (await scene.client.sendMessage({ ...names, message: 'and now?' })).result();
  });
});
