import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventActions } from '../../src/events/event-actions.ts';
import { TranscriptCache } from '../../src/flows/transcript-cache.ts';
import type { StoredEvent } from '../../src/store/store.ts';

function stored(seq: number, text = `event ${seq}`): StoredEvent {
  return {
    seq,
    kind: 'message',
    runKey: 'r',
    step: 1,
    event: {
      id: `${seq}`,
      invocationId: 'e-1',
      timestamp: 0,
      content: { role: 'user', parts: [{ text }] },
      actions: createEventActions(),
    },
  };
}

/** Stands for the store: sessions grow, events never change. */
class Sessions {
  readonly events = new Map<string, StoredEvent[]>();

  append(session: string, texts: readonly string[]): void {
    const list = this.events.get(session) ?? [];
    for (const text of texts) list.push(stored(list.length + 1, text));
    this.events.set(session, list);
  }

  after(session: string, seq: number): StoredEvent[] {
    return (this.events.get(session) ?? []).slice(seq);
  }
}

/** As a model step reads: what is new behind the known seq, all of it where the cache has lost its part. */
function read(cache: TranscriptCache, sessions: Sessions, session: string, knownSeq: number) {
  return (
    cache.extend(session, knownSeq, sessions.after(session, knownSeq)) ??
    cache.extend(session, 0, sessions.after(session, 0))
  );
}

const session = fc.constantFrom('s1', 's2', 's3');
const action = fc.oneof(
  fc.record({
    type: fc.constant('append' as const),
    session,
    texts: fc.array(fc.string({ maxLength: 200 }), { maxLength: 4 }),
  }),
  fc.record({ type: fc.constant('read' as const), session }),
  // Another step of the session reads between the look at the cache and the answer of the store.
  fc.record({
    type: fc.constant('raced read' as const),
    session,
    texts: fc.array(fc.string({ maxLength: 200 }), { maxLength: 4 }),
  }),
);

describe('the cache of transcripts', () => {
  test('any sequence of steps reads what reading everything gives, however small it is [store.cache]', () => {
    fc.assert(
      fc.property(
        fc.array(action, { maxLength: 40 }),
        fc.integer({ min: 1, max: 4000 }),
        (actions, maxBytes) => {
          const cache = new TranscriptCache(maxBytes);
          const sessions = new Sessions();
          for (const each of actions) {
            if (each.type === 'append') {
              sessions.append(each.session, each.texts);
              continue;
            }
            const knownSeq = cache.knownSeq(each.session);
            expect(knownSeq).toBeLessThanOrEqual(sessions.after(each.session, 0).length);
            if (each.type === 'raced read') {
              sessions.append(each.session, each.texts);
              read(cache, sessions, each.session, cache.knownSeq(each.session));
            }
            expect(read(cache, sessions, each.session, knownSeq)).toEqual(sessions.after(each.session, 0));
          }
        },
      ),
    );
  });

  test('a step reads only what is new [store.cache]', () => {
    const cache = new TranscriptCache();
    expect(cache.knownSeq(undefined)).toBe(0);
    expect(cache.knownSeq('s')).toBe(0);
    cache.extend('s', 0, [stored(1), stored(2)]);
    expect(cache.knownSeq('s')).toBe(2);
    expect(cache.extend('s', 2, [stored(3)])?.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  test('a gap is told, and the session forgotten [store.cache]', () => {
    const cache = new TranscriptCache();
    cache.extend('s', 0, [stored(1), stored(2)]);
    expect(cache.extend('s', 4, [stored(5)])).toBeUndefined();
    expect(cache.knownSeq('s')).toBe(0);
    expect(cache.extend('unknown', 1, [stored(2)])).toBeUndefined();
  });

  test('keeps no more than its bytes: the session that was read last stays [store.cache]', () => {
    const kilobyte = 'x'.repeat(1024);
    const cache = new TranscriptCache(10 * 1024);
    for (let index = 0; index < 50; index += 1) cache.extend(`s${index}`, 0, [stored(1, kilobyte)]);
    const kept = Array.from({ length: 50 }, (_, index) => cache.knownSeq(`s${index}`)).filter(
      (seq) => seq > 0,
    );
    expect(kept.length).toBeGreaterThan(4);
    expect(kept.length).toBeLessThan(10);
    expect(cache.knownSeq('s49')).toBe(1);
    const whole = cache.extend('large', 0, [stored(1, 'y'.repeat(20 * 1024))]);
    expect(whole).toHaveLength(1);
    expect(cache.knownSeq('large')).toBe(0);
  });

  test('two steps that read the same events at once count them once [store.cache]', () => {
    const cache = new TranscriptCache(8 * 1024);
    cache.extend('s', 0, [stored(1, 'x'.repeat(1024))]);
    for (let again = 0; again < 20; again += 1) cache.extend('s', 0, [stored(1, 'x'.repeat(1024))]);
    expect(cache.knownSeq('s')).toBe(1);
  });
});
