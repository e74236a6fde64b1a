import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StoreNotice } from '../../src/store/live/live-feed.ts';
import { NoticeOutbox, type OutgoingNotice } from '../../src/store/live/notice-outbox.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const topic = { session: 's' };
const appended = (seq: number, session = 's'): StoreNotice => ({ type: 'appended', session, seq });
const text = (index: number, words = 'x', session = 's'): StoreNotice => ({
  ...{ type: 'text', session, runKey: 'r', step: 1, agent: 'a', attempt: 1, index, text: words },
});

/** An outbox, and what its statements sent when. */
function outbox(send: () => Promise<unknown> = async () => undefined) {
  const statements: { at: number; notices: StoreNotice[] }[] = [];
  const started = performance.now();
  const box = new NoticeOutbox(async (outgoing: readonly OutgoingNotice[]) => {
    statements.push({ at: performance.now() - started, notices: outgoing.map(({ notice }) => notice) });
    await send();
  });
  return { box, statements };
}

test('the first goes at once, then at most 20 statements a second, with all texts in order [stream.text]', async () => {
  const { box, statements } = outbox();
  for (let index = 0; index < 1_000; index += 1) {
    box.add(topic, text(index));
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(50);
  expect(statements[0]).toMatchObject({ notices: [text(0)] });
  expect(statements[0]?.at).toBeLessThanOrEqual(1);
  expect(statements.length).toBeLessThanOrEqual(22);
  for (const [index, { at }] of statements.entries()) {
    if (index > 0) expect(at - (statements[index - 1]?.at ?? 0)).toBeGreaterThanOrEqual(50);
  }
  expect(statements.flatMap(({ notices }) => notices)).toEqual(
    Array.from({ length: 1_000 }, (_, n) => text(n)),
  );
});

test('of what is appended to a session only the highest seq is sent, behind what came before it [stream.text]', async () => {
  const sessions = fc.constantFrom('s', 't');
  const added = fc.oneof(
    fc.record({ session: sessions, seq: fc.nat(50) }),
    fc.record({ session: sessions, seq: fc.constant(undefined) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(added, { minLength: 1 }), async (all) => {
      const { box, statements } = outbox();
      const notices = all.map(({ session, seq }, index) =>
        seq === undefined ? text(index, 'x', session) : appended(seq, session),
      );
      for (const notice of notices) box.add({ session: notice.session }, notice);
      await vi.advanceTimersByTimeAsync(1);
      expect(statements).toHaveLength(1);
      const sent = statements[0]?.notices ?? [];
      expect(sent.filter(({ type }) => type === 'text')).toEqual(
        notices.filter(({ type }) => type === 'text'),
      );
      for (const session of ['s', 't']) {
        const ofSession = notices.filter((notice) => notice.session === session);
        const seqs = ofSession.flatMap((notice) => (notice.type === 'appended' ? [notice.seq] : []));
        const told = sent.filter((notice) => notice.session === session);
        expect(told.filter(({ type }) => type === 'appended')).toEqual(
          seqs.length === 0 ? [] : [appended(Math.max(...seqs), session)],
        );
        // It is last where the last that came was one.
        expect(told.at(-1)?.type).toBe(ofSession.at(-1)?.type);
      }
    }),
  );
});

test('one that can not send waits a second, loses what it had, and never keeps more than 8 MiB [stream.text]', async () => {
  const { box, statements } = outbox(async () => {
    if (statements.length === 1) throw new Error('down');
  });
  box.add(topic, text(0));
  await vi.advanceTimersByTimeAsync(1);
  for (let index = 1; index <= 4_000; index += 1) box.add(topic, text(index, 'x'.repeat(7_000)));
  await vi.advanceTimersByTimeAsync(900);
  expect(statements).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(statements).toHaveLength(2);
  const sent = statements[1]?.notices.length ?? 0;
  expect(sent * 7_000).toBeLessThanOrEqual(8 * 1024 * 1024);
  expect(sent).toBeGreaterThan(1_000);
  expect(statements[1]?.notices[0]).toMatchObject({ index: 1 });
  box.add(topic, appended(1));
  await vi.advanceTimersByTimeAsync(100);
  expect(statements[2]?.notices).toEqual([appended(1)]);
});

test('one statement is under way at a time, and closing sends what waits but never for long [stream.text]', async () => {
  const gate = Promise.withResolvers<void>();
  const { box, statements } = outbox(() => gate.promise);
  box.add(topic, appended(1));
  await vi.advanceTimersByTimeAsync(1_000);
  box.add(topic, appended(2));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(statements).toHaveLength(1);
  const closing = box.close();
  gate.resolve();
  await closing;
  expect(statements.map(({ notices }) => notices)).toEqual([[appended(1)], [appended(2)]]);

  const stuck = outbox(() => new Promise(() => undefined));
  stuck.box.add(topic, appended(1));
  await vi.advanceTimersByTimeAsync(1);
  const ending = stuck.box.close();
  await vi.advanceTimersByTimeAsync(1_000);
  await ending;
  stuck.box.add(topic, appended(2));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stuck.statements).toHaveLength(1);
});
