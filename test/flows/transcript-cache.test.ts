import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../src/contract/events.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import type { Transcript } from '../../src/flows/transcript.ts';
import { type KnownTranscript, TranscriptCache } from '../../src/flows/transcript-cache.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { StoreBehindHistory } from '../../src/store/store-errors.ts';
import { inTier } from '../setup/tier.ts';

let made = 0;

function stored(seq: number, text = `event ${seq}`): StoredEvent {
  made += 1;
  return {
    seq,
    kind: 'message',
    runKey: 'r',
    step: 1,
    event: {
      id: `id-${made}`,
      invocationId: 'e-1',
      timestamp: 0,
      content: { role: 'user', parts: [{ text }] },
      actions: createEventActions(),
    },
  };
}

interface StoredSession {
  session: string;
  names: SessionNames;
  events: StoredEvent[];
}

/** Stands for the store, as `openStep` and `readEvents` read it. */
class Sessions {
  readonly #sessions = new Map<string, StoredSession>();
  #made = 0;
  /** How many events were read. */
  read = 0;

  get(name: string): StoredSession {
    const known = this.#sessions.get(name);
    if (known !== undefined) return known;
    this.#made += 1;
    const session: StoredSession = { session: `id-${this.#made}`, names: namesOf(name), events: [stored(1)] };
    this.#sessions.set(name, session);
    return session;
  }

  append(name: string, texts: readonly string[]): void {
    const { events } = this.get(name);
    for (const text of texts) events.push(stored(events.length + 1, text));
  }

  delete(name: string): void {
    this.#sessions.delete(name);
  }

  /** As a backup had it, which went on since. */
  restore(name: string, lost: number, texts: readonly string[]): void {
    const { events } = this.get(name);
    events.splice(Math.max(1, events.length - lost));
    this.append(name, texts);
  }

  open(name: string, { session: guess, knownSeq = 0 }: KnownTranscript['ask']) {
    const { session, names, events } = this.get(name);
    const wanted = events.slice(guess === session ? knownSeq : 0);
    this.read += wanted.length;
    return { session, names, seq: events.length, events: structuredClone(wanted) };
  }
}

function namesOf(sessionId: string): SessionNames {
  return { app: 'shop', userId: 'ada', sessionId };
}

const identityOf = (name: string) => ({ identity: { ...namesOf(name), messageId: 'm' } });

async function readWith(
  cache: TranscriptCache,
  sessions: Sessions,
  name: string,
  known: KnownTranscript,
  meanwhile: () => Promise<void> = async () => {},
): Promise<Transcript> {
  const opened = sessions.open(name, known.ask);
  await meanwhile();
  const transcript = await cache.read(known, opened, async () => structuredClone(sessions.get(name).events));
  expect(transcript.seq).toBe(opened.seq);
  return transcript;
}

/** A turn's first step, which knows names, or a later one, which knows the session. */
function read(cache: TranscriptCache, sessions: Sessions, name: string, first = true): Promise<Transcript> {
  const known = cache.known(first ? identityOf(name) : { session: sessions.get(name).session });
  return readWith(cache, sessions, name, known);
}

const ROOT = { agent: 'root', include: 'default' } as const;
const name = fc.constantFrom('s1', 's2', 's3');
const texts = fc.array(fc.string({ minLength: 1, maxLength: 200 }), { maxLength: 4 });
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('append' as const), name, texts }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('read' as const), name, first: fc.boolean() }) },
  // Other steps read between the look at the cache, the answer of the store and what is made of it.
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('raced read' as const),
      name,
      first: fc.boolean(),
      texts,
      before: name,
      after: name,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('delete' as const, 'restore' as const),
      name,
      texts,
      lost: fc.integer({ min: 1, max: 4 }),
    }),
  },
);

describe('the cache of transcripts', () => {
  test('any sequence of steps, of sessions deleted, made again and restored, reads what reading everything gives [store.cache] [store.restored]', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 60, size: 'max' }),
        fc.integer({ min: 1, max: 8_000 }),
        async (actions, maxBytes) => {
          const cache = new TranscriptCache(maxBytes);
          const sessions = new Sessions();
          const handedOut: { transcript: Transcript; events: StoredEvent[] }[] = [];
          /** A turn that was running when its store was restored is stopped; the next one starts with names. */
          const restored = new Set<string>();
          const keep = (transcript: Transcript, events: readonly StoredEvent[]) =>
            handedOut.push({ transcript, events: structuredClone(events.slice(0, transcript.seq)) });
          for (const each of actions) {
            if (each.type === 'append') sessions.append(each.name, each.texts);
            if (each.type === 'delete') sessions.delete(each.name);
            if (each.type === 'restore') {
              sessions.restore(each.name, each.lost, each.texts);
              restored.add(each.name);
            }
            if (each.type !== 'read' && each.type !== 'raced read') continue;
            const raced = each.type === 'raced read' ? each : undefined;
            const first = each.first || restored.has(each.name);
            const known = cache.known(
              first ? identityOf(each.name) : { session: sessions.get(each.name).session },
            );
            const other = async (its: string) => {
              keep(await read(cache, sessions, its, restored.has(its)), sessions.get(its).events);
              restored.delete(its);
            };
            if (raced) {
              sessions.append(each.name, raced.texts);
              await other(raced.before);
            }
            const transcript = await readWith(cache, sessions, each.name, known, async () => {
              if (raced === undefined) return;
              sessions.append(each.name, raced.texts);
              await other(raced.after);
            });
            restored.delete(each.name);
            keep(transcript, sessions.get(each.name).events);
          }
          for (const { transcript, events } of handedOut) {
            expect(transcript.events()).toEqual(events.map(({ event }) => event));
            expect(transcript.contents(ROOT)).toEqual(events.map(({ event }) => event.content));
          }
        },
      ),
      { numRuns: inTier(10, 100) },
    );
  });

  test('a step reads what is new; the first one of a turn one event more [store.cache]', async () => {
    const cache = new TranscriptCache();
    const sessions = new Sessions();
    sessions.append('s', ['one', 'two', 'three']);
    expect(cache.known(identityOf('s')).ask).toEqual({});
    await read(cache, sessions, 's');
    const { session } = sessions.get('s');
    expect(cache.known({ session }).ask).toEqual({ session, knownSeq: 4 });
    expect(cache.known(identityOf('s')).ask).toEqual({ session, knownSeq: 3 });
    sessions.append('s', ['four']);
    sessions.read = 0;
    expect((await read(cache, sessions, 's', false)).events()).toHaveLength(5);
    expect(sessions.read).toBe(1);
    sessions.append('s', ['five']);
    expect((await read(cache, sessions, 's')).events()).toHaveLength(6);
    expect(sessions.read).toBe(3);
  });

  test('names mean another session once they were made again [store.cache]', async () => {
    const cache = new TranscriptCache();
    const sessions = new Sessions();
    sessions.append('s', ['a secret of the first']);
    await read(cache, sessions, 's');
    const first = sessions.get('s').session;
    sessions.delete('s');
    const transcript = await read(cache, sessions, 's');
    expect(JSON.stringify(transcript.contents(ROOT))).not.toContain('secret');
    expect(cache.known(identityOf('s')).ask.session).toBe(sessions.get('s').session);
    expect(sessions.get('s').session).not.toBe(first);
  });

  test('names of other users and apps are other names [store.cache]', async () => {
    const cache = new TranscriptCache();
    const sessions = new Sessions();
    await read(cache, sessions, 's');
    const identity = { ...namesOf('s'), messageId: 'm' };
    expect(cache.known({ identity: { ...identity, app: 'shop","ada' } }).ask).toEqual({});
    expect(cache.known({ identity: { ...identity, userId: 'eve' } }).ask).toEqual({});
    const other = { ...identity, messageId: 'other' };
    expect(cache.known({ identity: other }).ask.session).toBe(sessions.get('s').session);
  });

  test('a step sees nothing of what a later one has read before it [store.cache]', async () => {
    const cache = new TranscriptCache();
    const sessions = new Sessions();
    await read(cache, sessions, 's');
    const zombie = cache.known({ session: sessions.get('s').session });
    const transcript = await readWith(cache, sessions, 's', zombie, async () => {
      sessions.append('s', ['later']);
      expect((await read(cache, sessions, 's', false)).events()).toHaveLength(2);
    });
    expect(transcript.events()).toHaveLength(1);
    expect(transcript.contents(ROOT)).toHaveLength(1);
    expect((await read(cache, sessions, 's', false)).events()).toHaveLength(2);
  });

  test('keeps no more than its bytes: the session that was read last stays [store.cache]', async () => {
    const kilobyte = 'x'.repeat(1024);
    const cache = new TranscriptCache(20 * 1024);
    const sessions = new Sessions();
    const all = Array.from({ length: 50 }, (_, index) => `s${index}`);
    for (const each of all) {
      sessions.append(each, [kilobyte]);
      await read(cache, sessions, each);
    }
    const kept = all.filter((each) => cache.known(identityOf(each)).seq > 0);
    expect(kept.length).toBeGreaterThan(3);
    expect(kept.length).toBeLessThan(12);
    expect(kept).toEqual(all.slice(-kept.length));
    expect(all.filter((each) => cache.known({ session: sessions.get(each).session }).seq > 0)).toEqual(kept);
  });

  test('a session that grows beyond its bytes is read whole, and right [store.cache]', async () => {
    const cache = new TranscriptCache(20 * 1024);
    const sessions = new Sessions();
    await read(cache, sessions, 'large');
    await read(cache, sessions, 'other');
    sessions.append('large', ['y'.repeat(30 * 1024)]);
    expect((await read(cache, sessions, 'large')).events()).toHaveLength(2);
    expect(cache.known(identityOf('large')).ask).toEqual({});
    sessions.append('large', ['more']);
    expect((await read(cache, sessions, 'large')).events()).toHaveLength(3);
    expect(cache.known(identityOf('other')).seq).toBe(1);
  });

  test('a turn never goes on with a shorter transcript than it was opened with [store.restored]', async () => {
    const cache = new TranscriptCache();
    const sessions = new Sessions();
    sessions.append('s', ['one']);
    const known = cache.known(identityOf('s'));
    const opened = { ...sessions.open('s', known.ask), events: [] };
    await expect(cache.read(known, opened, async () => [])).rejects.toThrow(StoreBehindHistory);
    expect(cache.known(identityOf('s')).ask).toEqual({});
  });

  test('who opens no step reads what is new only, and all of another history [store.cache] [tool.turnCalls]', async () => {
    const cache = new TranscriptCache();
    const sessions = new Sessions();
    sessions.append('s', ['one', 'two']);
    const asked: number[] = [];
    const current = () => {
      const { session, names, events } = sessions.get('s');
      return cache.current(session, names, async (after) => {
        asked.push(after);
        return structuredClone(events.slice(after));
      });
    };
    expect((await current()).seq).toBe(3);
    sessions.append('s', ['three']);
    expect((await current()).events().at(-1)?.content?.parts).toEqual([{ text: 'three' }]);
    expect((await read(cache, sessions, 's')).seq).toBe(4);
    expect((await current()).seq).toBe(4);
    expect(asked).toEqual([0, 3, 4]);
    const gaps = cache.current('other', namesOf('other'), async (after) => [stored(after + 2)]);
    await expect(gaps).rejects.toThrow(StoreBehindHistory);
  });

  test('what is derived for agents counts, too [store.cache]', async () => {
    const cache = new TranscriptCache(20 * 1024);
    const sessions = new Sessions();
    sessions.append('s', ['x'.repeat(2 * 1024)]);
    for (const { event } of sessions.get('s').events) event.author = 'other';
    const transcript = await read(cache, sessions, 's');
    for (let agent = 0; agent < 4; agent += 1) {
      transcript.contents({ agent: `agent ${agent}`, include: 'default' });
    }
    expect(cache.known(identityOf('s')).seq).toBe(2);
    for (let agent = 4; agent < 16; agent += 1) {
      transcript.contents({ agent: `agent ${agent}`, include: 'default' });
    }
    expect(cache.known(identityOf('s')).ask).toEqual({});
  });
});
