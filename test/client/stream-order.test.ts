import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FollowerTooSlow } from '../../src/client/client-errors.ts';
import { LiveOrder } from '../../src/client/stream/live-order.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import { streamItems } from '../../src/client/stream/stream-items.ts';
import type { EventKind, StoredEvent } from '../../src/contract/events.ts';
import { createEvent } from '../../src/events/event.ts';
import type { StoreNotice } from '../../src/store/live/live-feed.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { Store } from '../../src/store/store.ts';
import { inTier } from '../setup/tier.ts';

const NAMES = { app: 'test', userId: 'ada', sessionId: 's' };
const RUN = 'e-1';

/** The part of a store that followers see, whose notices come when and as often as a test says. */
class HeardStore {
  listens = false;
  readonly events: StoredEvent[] = [];
  readonly listeners = new Set<(notice: StoreNotice) => void>();
  reads = 0;
  session = 'session-1';

  readonly #store = {
    sessions: {
      find: () => this.findSession(),
      readEvents: (read: { after?: number; limit?: number }) => this.readEvents(read),
    },
    live: this,
  } as unknown as Store;

  asStore(): Store {
    return this.#store;
  }

  append(kind: EventKind, step: number, runKey = RUN): StoreNotice {
    const seq = this.events.length + 1;
    const event = createEvent({ invocationId: runKey, author: kind });
    this.events.push({ seq, kind, runKey, step, event });
    return { type: 'appended', session: this.session, seq };
  }

  hear(notice: StoreNotice): void {
    for (const listener of this.listeners) queueMicrotask(() => listener(notice));
  }

  async findSession() {
    this.reads += 1;
    await nextTurn();
    const seq = this.events.length;
    return seq === 0 ? undefined : { session: this.session, seq, lastAgent: undefined };
  }

  async readEvents({ after = 0, limit = 1_000 }: { after?: number; limit?: number }) {
    this.reads += 1;
    await nextTurn();
    return structuredClone(this.events.slice(after, after + limit));
  }

  onNotice(listener: (notice: StoreNotice) => void): () => void {
    const own = (notice: StoreNotice) => listener(notice);
    this.listeners.add(own);
    return () => this.listeners.delete(own);
  }

  watchTurns(_names: SessionNames, listener: () => void): () => void {
    return this.onNotice((notice) => {
      if (notice.type === 'appended' && notice.seq === 1) listener();
    });
  }

  watch(session: string, listener: (notice: StoreNotice) => void): () => void {
    return this.onNotice((notice) => {
      if (notice.session === session) listener(notice);
    });
  }
}

function text(
  step: number,
  attempt: number,
  index: number,
  said = `${step}.${attempt}.${index} `,
): StoreNotice {
  return { type: 'text', session: 'session-1', runKey: RUN, step, agent: 'a', attempt, index, text: said };
}

const callKey = (step: number) => `${RUN}.${step}.0`;
const called = (step: number) => ({ session: 'session-1', runKey: RUN, callKey: callKey(step) });

function chunk(step: number, attempt: number, index: number): StoreNotice {
  return { type: 'tool chunk', ...called(step), tool: 'watch', attempt, index, content: `${index} ` };
}

type JobNotice = Extract<StoreNotice, { type: 'job' }>;

function job(said: Pick<JobNotice, 'mode'> & Partial<JobNotice>, step = 1): JobNotice {
  return { type: 'job', ...called(step), tool: 'order', jobId: `job-${step}`, status: 'running', ...said };
}

const seqsOf = (items: readonly StreamItem[]) =>
  items.flatMap((item) => (item.type === 'event' ? [item.seq] : []));

/** What must hold of everything that a follower is given, whatever it has heard. */
function checkOrder(items: readonly StreamItem[]): void {
  expect(seqsOf(items)).toEqual(seqsOf(items).map((_, index) => index + 1));
  const answered = new Set<number>();
  let step = 0;
  let counts = 1;
  let attempt = 0;
  let index = -1;
  for (const item of items) {
    if (item.type === 'event') {
      if (item.kind === 'model') answered.add(item.step);
      continue;
    }
    if (item.type !== 'text' && item.type !== 'text dropped') continue;
    expect(answered.has(item.step)).toBe(false);
    if (item.step !== step) {
      expect(item.step).toBeGreaterThan(step);
      [step, counts, attempt, index] = [item.step, 1, 0, -1];
    }
    if (item.type === 'text dropped') {
      expect(item.attempt).toBeGreaterThan(counts);
      counts = item.attempt;
      continue;
    }
    expect(item.attempt).toBeGreaterThanOrEqual(counts);
    // Between texts of two attempts it is said that the earlier one's is dropped.
    if (attempt > 0 && item.attempt !== attempt) expect(counts).toBeGreaterThan(attempt);
    if (item.attempt === attempt) expect(item.index).toBeGreaterThan(index);
    [attempt, index] = [item.attempt, item.index];
  }
}

/** What must hold of a call's chunks, whatever was heard of it. */
function checkChunks(items: readonly StreamItem[]): void {
  const closed = new Set<string>();
  const calls = new Map<string, { counts: number; attempt: number; index: number }>();
  for (const item of items) {
    if (item.type === 'event' && item.kind === 'responses') closed.add(callKey(item.step));
    if (!('callKey' in item) || item.type === 'job') continue;
    expect(closed.has(item.callKey)).toBe(false);
    const call = calls.get(item.callKey) ?? { counts: 1, attempt: 0, index: -1 };
    calls.set(item.callKey, call);
    if (item.type === 'call finished') {
      closed.add(item.callKey);
      continue;
    }
    if (item.type === 'tool chunks dropped') {
      expect(item.attempt).toBeGreaterThan(call.counts);
      call.counts = item.attempt;
      continue;
    }
    expect(item.attempt).toBeGreaterThanOrEqual(call.counts);
    // Between chunks of one attempt and a later one it is said that the earlier ones are dropped.
    if (call.attempt > 0 && item.attempt !== call.attempt) expect(call.counts).toBeGreaterThan(call.attempt);
    if (item.type !== 'tool chunk') continue;
    if (item.attempt === call.attempt) expect(item.index).toBeGreaterThan(call.index);
    Object.assign(call, { attempt: item.attempt, index: item.index });
  }
}

const wait = fc.integer({ min: 0, max: 3 });
/** Steps, their attempts, and how many texts each has; what becomes of each notice, and when. */
const plan = fc.record({
  steps: fc.array(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 4,
  }),
  fates: fc.array(
    fc.record({
      fate: fc.constantFrom('told', 'told', 'told', 'lost', 'twice', 'late'),
      wait,
    }),
    { minLength: 5, maxLength: 40 },
  ),
  reader: fc.array(wait, { minLength: 1, maxLength: 10 }),
});

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await nextTurn();
}

describe('what a follower is given', () => {
  test('whatever is heard, late, twice or not at all: events in order, no text or chunk out of place [stream.text] [stream.retry] [tool.streaming]', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ steps, fates, reader }) => {
        const store = new HeardStore();
        const written = Promise.withResolvers<void>();
        const items: StreamItem[] = [];
        const reading = (async () => {
          for await (const item of streamItems(store.asStore(), NAMES, { until: written.promise })) {
            items.push(item);
            await turns(reader[items.length % reader.length] ?? 0);
          }
        })();
        const all: StoreNotice[] = [];
        const late: StoreNotice[] = [];
        let count = 0;
        const tell = async (notice: StoreNotice) => {
          all.push(notice);
          const { fate = 'told', wait: pause = 0 } = fates[count++ % fates.length] ?? {};
          if (fate === 'late') late.push(notice);
          else if (fate !== 'lost') store.hear(notice);
          if (fate === 'twice') store.hear(notice);
          await turns(pause);
          if (pause === 3) for (const each of late.splice(0)) store.hear(each);
        };
        await tell(store.append('message', 1));
        for (const [index, attempts] of steps.entries()) {
          const step = index + 1;
          for (const [before, texts] of attempts.entries()) {
            const attempt = before + 1;
            if (attempt > 1) {
              await tell({ type: 'text dropped', session: store.session, runKey: RUN, step, attempt });
            }
            for (let nth = 0; nth < texts; nth++) await tell(text(step, attempt, nth));
          }
          await tell(store.append('model', step));
          for (const [before, chunks] of attempts.entries()) {
            const attempt = before + 1;
            await tell({ type: 'call started', ...called(step), tool: 'watch', attempt });
            for (let nth = 0; nth < chunks; nth++) await tell(chunk(step, attempt, nth));
            const isLast = attempt === attempts.length;
            if (!isLast) await tell({ type: 'tool chunks dropped', ...called(step), attempt: attempt + 1 });
          }
          await tell({ type: 'call finished', ...called(step), tool: 'watch', failed: false });
          await tell(store.append('responses', step));
        }
        store.hear({ type: 'appended', session: store.session, seq: store.events.length });
        await vi.waitUntil(() => seqsOf(items).length === store.events.length, {
          interval: 1,
          timeout: 120_000,
        });
        const given = items.length;
        for (const notice of all) store.hear(notice);
        await turns(5);
        written.resolve();
        await reading;
        checkOrder(items);
        checkChunks(items);
        expect(items).toHaveLength(given);
        expect(store.listeners.size).toBe(0);
      }),
      { numRuns: inTier(15, 150) },
    );
  });

  test('where nothing is lost, all text comes between the events where it was told [stream.text]', async () => {
    const store = new HeardStore();
    const written = Promise.withResolvers<void>();
    const items: StreamItem[] = [];
    const reading = (async () => {
      for await (const item of streamItems(store.asStore(), NAMES, { until: written.promise }))
        items.push(item);
    })();
    store.hear(store.append('message', 1));
    await expect.poll(() => seqsOf(items)).toEqual([1]);
    store.hear(text(1, 1, 0));
    store.hear(text(1, 1, 1));
    const asked = { ...called(1), tool: 'search' };
    store.hear(store.append('model', 1));
    store.hear({ type: 'call started', ...asked, attempt: 1 });
    store.hear({ type: 'call started', ...asked, attempt: 1 });
    store.hear({ type: 'call finished', ...asked, failed: false });
    store.hear(store.append('responses', 1));
    store.hear({ type: 'call finished', ...asked, failed: false });
    store.hear(text(2, 1, 0));
    store.hear(store.append('model', 2));
    await expect.poll(() => seqsOf(items)).toHaveLength(4);
    written.resolve();
    await reading;
    expect(items.map((item) => (item.type === 'event' ? `${item.kind} ${item.step}` : item.type))).toEqual([
      'message 1',
      'text',
      'text',
      'model 1',
      'call started',
      'call finished',
      'responses 1',
      'text',
      'model 2',
    ]);
  });

  test('where nothing is lost, chunks come between their call’s begin and end [tool.streaming]', async () => {
    const store = new HeardStore();
    const written = Promise.withResolvers<void>();
    const items: StreamItem[] = [];
    const reading = (async () => {
      for await (const item of streamItems(store.asStore(), NAMES, { until: written.promise }))
        items.push(item);
    })();
    store.hear(store.append('message', 1));
    store.hear(store.append('model', 1));
    await expect.poll(() => seqsOf(items)).toEqual([1, 2]);
    store.hear({ type: 'call started', ...called(1), tool: 'watch', attempt: 1 });
    store.hear(chunk(1, 1, 0));
    store.hear(chunk(1, 1, 0));
    store.hear(chunk(1, 1, 1));
    // The worker is lost without a word.
    store.hear({ type: 'call started', ...called(1), tool: 'watch', attempt: 2 });
    store.hear(chunk(1, 1, 2));
    store.hear(chunk(1, 2, 0));
    store.hear({ type: 'call finished', ...called(1), tool: 'watch', failed: false });
    store.hear(chunk(1, 2, 1));
    store.hear(store.append('responses', 1));
    store.hear(chunk(1, 3, 0));
    await expect.poll(() => seqsOf(items)).toHaveLength(3);
    written.resolve();
    await reading;
    const words = items.map((item) =>
      item.type === 'event' ? item.kind : 'attempt' in item ? `${item.type} ${item.attempt}` : item.type,
    );
    expect(words).toEqual([
      'message',
      'model',
      'call started 1',
      'tool chunk 1',
      'tool chunk 1',
      'tool chunks dropped 2',
      'call started 2',
      'tool chunk 2',
      'call finished',
      'responses',
    ]);
  });

  test('news of a job are heard in order, none after its end, and beside its call none after the responses [job.progress]', async () => {
    const at = (time: number) => ({ progress: { at: time, value: time / 10 } });
    const notice = fc.record({
      step: fc.constantFrom(1, 2),
      mode: fc.constantFrom('started' as const, 'parked' as const, 'detached' as const),
      status: fc.constantFrom(
        'running' as const,
        'running' as const,
        'running' as const,
        'completed' as const,
      ),
      at: fc.option(fc.nat(5), { nil: undefined }),
    });
    const plan = fc.array(fc.oneof(notice, fc.constantFrom('responses' as const)), { maxLength: 30 });
    await fc.assert(
      fc.property(plan, (said) => {
        const order = new LiveOrder();
        const given: JobNotice[] = [];
        let isAnswered = false;
        for (const each of said) {
          if (each === 'responses') {
            order.passed({ seq: 3, kind: 'responses', runKey: RUN, step: 2, event: createEvent({}) });
            isAnswered = true;
            continue;
          }
          const { step, mode, status } = each;
          const { session: _session, ...item } = job(
            { mode, status, ...(each.at === undefined ? {} : at(each.at)) },
            step,
          );
          const admitted = order.admit(item) as JobNotice[];
          expect(order.admit(item)).toEqual([]);
          if (isAnswered && mode !== 'detached') expect(admitted).toEqual([]);
          given.push(...admitted);
        }
        for (const jobId of ['job-1', 'job-2']) {
          const items = given.filter((item) => item.jobId === jobId);
          const ends = items.findIndex(({ status }) => status !== 'running');
          expect([-1, items.length - 1]).toContain(ends);
          const times = items
            .slice(0, ends === -1 ? undefined : ends)
            .map(({ progress }) => progress?.at ?? 0);
          expect(times).toEqual(times.toSorted((one, other) => one - other));
        }
      }),
    );
  });

  test('where nothing is lost, a job is heard of from its begin to its end, beside its turn and after it [job.progress]', async () => {
    const store = new HeardStore();
    const stop = new AbortController();
    const items: StreamItem[] = [];
    const reading = (async () => {
      for await (const item of streamItems(store.asStore(), NAMES, { signal: stop.signal })) items.push(item);
    })();
    const hear = (notice: StoreNotice) => {
      store.hear(notice);
      store.hear(notice);
    };
    hear(store.append('message', 1));
    hear(store.append('model', 1));
    await expect.poll(() => seqsOf(items)).toEqual([1, 2]);
    hear(job({ mode: 'started' }));
    hear(job({ mode: 'detached' }));
    hear(job({ mode: 'started' }, 1));
    hear(store.append('responses', 1));
    hear(job({ mode: 'detached', progress: { at: 5, value: 0.5 } }));
    hear(job({ mode: 'detached', progress: { at: 4, value: 0.4 } }));
    hear(store.append('model', 2));
    hear(job({ mode: 'detached', status: 'completed', progress: { at: 5, value: 0.5 } }));
    hear(job({ mode: 'detached', progress: { at: 6, value: 0.6 } }));
    await expect.poll(() => items.at(-1)).toMatchObject({ type: 'job', status: 'completed' });
    stop.abort();
    await reading;
    const words = items.map((item) =>
      item.type === 'job'
        ? `${item.mode} ${item.status} ${item.progress?.at ?? '-'}`
        : item.type === 'event'
          ? item.kind
          : item.type,
    );
    expect(words).toEqual([
      'message',
      'model',
      'started running -',
      'detached running -',
      'responses',
      'detached running 5',
      'model',
      'detached completed 5',
    ]);
  });

  test('text alone has nobody read the store [stream.text]', async () => {
    const store = new HeardStore();
    store.append('message', 1);
    const stop = new AbortController();
    let texts = 0;
    const reading = (async () => {
      for await (const { type } of streamItems(store.asStore(), NAMES, { signal: stop.signal })) {
        if (type === 'text') texts += 1;
      }
    })();
    await expect.poll(() => store.reads).toBeGreaterThanOrEqual(3);
    const [before, began] = [store.reads, Date.now()];
    for (let index = 0; index < 300; index++) {
      store.hear(text(1, 1, index));
      await nextTurn();
    }
    await expect.poll(() => texts).toBe(300);
    // One look in each half of a second.
    expect(store.reads - before).toBeLessThanOrEqual(Math.ceil((Date.now() - began) / 500) + 1);
    stop.abort();
    await reading;
  });

  test('of a session made again nothing waits for a regular look [stream.text]', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const store = new HeardStore();
    store.listens = true;
    store.append('message', 1, 'e-old');
    const following = streamItems(store.asStore(), NAMES, {});
    expect(await following.next()).toMatchObject({ value: { seq: 1, runKey: 'e-old' } });
    const next = following.next();
    await turns(5);
    store.session = 'session-2';
    store.events.length = 0;
    const read = store.readEvents.bind(store);
    vi.spyOn(store, 'readEvents').mockImplementationOnce(async (asked) => {
      const page = await read(asked);
      // Nobody follows the new one yet.
      store.hear(store.append('model', 1));
      await nextTurn();
      return page;
    });
    store.hear(store.append('message', 1));
    expect(await next).toMatchObject({ value: { seq: 1, runKey: RUN } });
    expect(await following.next()).toMatchObject({ value: { seq: 2, kind: 'model' } });
    await following.return();
  });

  test('followers of one session share its reads, and get values of their own [stream.slow]', async () => {
    const store = new HeardStore();
    store.append('message', 1);
    const stop = new AbortController();
    const seen = Array.from({ length: 50 }, () => [] as StoredEvent[]);
    const reading = seen.map(async (events) => {
      for await (const item of streamItems(store.asStore(), NAMES, { signal: stop.signal })) {
        if (item.type !== 'event') continue;
        events.push(item);
        item.event.author = 'changed';
      }
    });
    await expect.poll(() => seen.every(({ length }) => length === 1)).toBe(true);
    const before = store.reads;
    store.hear(store.append('model', 1));
    await expect.poll(() => seen.every(({ length }) => length === 2)).toBe(true);
    expect(store.reads - before).toBeLessThan(50);
    expect(new Set(seen.flat().map(({ event }) => event)).size).toBe(100);
    expect(store.events.map(({ event }) => event.author)).toEqual(['message', 'model']);
    stop.abort();
    await Promise.all(reading);
    expect(store.listeners.size).toBe(0);
  });
});

describe('a slow reader', () => {
  const texts = (count: number, said?: string) =>
    Array.from({ length: count }, (_, n) => text(1, 1, n, said));

  test.each([
    ['many items', texts(2_001)],
    ['much text', texts(40, 'x'.repeat(7 * 1024))],
    [
      'many chunks',
      Array.from(
        { length: 60 },
        (_, n): StoreNotice => ({
          type: 'tool chunk',
          ...called(1),
          tool: 'watch',
          attempt: 1,
          index: n,
          content: { rows: 'x'.repeat(6 * 1024) },
        }),
      ),
    ],
  ])('%s unread: it is cut off, and told where to resume [stream.slow]', async (_, notices) => {
    const store = new HeardStore();
    store.append('message', 1);
    const following = streamItems(store.asStore(), NAMES, {});
    expect(await following.next()).toMatchObject({ value: { type: 'event', seq: 1 } });
    for (const notice of notices) store.hear(notice);
    store.hear(store.append('model', 1));
    await expect.poll(() => store.listeners.size).toBe(0);
    const cut = await following.next().catch((error: unknown) => error);
    expect(cut).toBeInstanceOf(FollowerTooSlow);
    expect(cut).toMatchObject({ code: 'HOLDFAST_FOLLOWER_TOO_SLOW', after: 1 });
    expect(String(cut)).toContain('resume with `after: 1`');
    expect(await following.next()).toEqual({ done: true, value: undefined });
    const again = streamItems(store.asStore(), NAMES, { after: 1 });
    expect(await again.next()).toMatchObject({ value: { type: 'event', seq: 2 } });
    await again.return();
    expect(store.listeners.size).toBe(0);
  });

  test('what others are told while the session isn’t there cuts nobody off [stream.slow]', async () => {
    const store = new HeardStore();
    const following = streamItems(store.asStore(), NAMES, {});
    const first = following.next();
    const others = texts(3_000).map((notice) => ({ ...notice, session: 'another' }));
    for (const notice of others) store.hear(notice);
    await nextTurn();
    store.hear(store.append('message', 1));
    store.hear(text(1, 1, 0));
    expect(await first).toMatchObject({ value: { type: 'event', seq: 1 } });
    expect(await following.next()).toMatchObject({ value: { type: 'text', index: 0 } });
    await following.return();
    expect(store.listeners.size).toBe(0);
  });

  test('that never begins to read holds nothing [stream.slow]', async () => {
    const store = new HeardStore();
    const following = streamItems(store.asStore(), NAMES, {});
    expect(store.listeners.size).toBe(0);
    await following.return();
    expect(store.listeners.size).toBe(0);
  });

  test('goes on looking where the system’s clock is set back [stream.slow]', async () => {
    const store = new HeardStore();
    store.append('message', 1);
    const following = streamItems(store.asStore(), NAMES, {});
    expect(await following.next()).toMatchObject({ value: { seq: 1 } });
    const clock = vi.spyOn(Date, 'now').mockReturnValue(0);
    const next = following.next();
    // Nobody tells of it.
    store.append('model', 1);
    expect(await next).toMatchObject({ value: { seq: 2 } });
    clock.mockRestore();
    await following.return();
  });
});
