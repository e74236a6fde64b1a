import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { DeliverNotice } from '../../../../src/protocol/gate.ts';
import type { DeadNotice } from '../../../../src/store/notices/notice-store.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';

export function keptNoticeSuite(store: () => PostgresStore): void {
  async function session() {
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
    await store().sessions.create(names);
    const found = await store().sessions.find(names);
    return { names, session: found?.session ?? '' };
  }
  const request = () => `rq-${randomUUID()}.1.0.1`;

  test('a note is found by its request and by its place, of its notifier alone [notice.ended]', async () => {
    const { session: id, names } = await session();
    const [requestId, other] = [request(), request()];
    const [notifier, place] = [randomUUID(), randomUUID()];
    const name = { notifier, requestId };
    expect(await store().notices.noteOf(name)).toBeUndefined();
    expect(await store().notices.saveNote({ ...name, session: id, value: { ts: 1 }, place })).toBe(true);
    expect(await store().notices.saveNote({ ...name, session: id, value: { ts: 2 } })).toBe(true);
    expect(await store().notices.noteOf(name)).toEqual({ ts: 2 });
    expect(await store().notices.findNote(notifier, place)).toEqual({
      session: id,
      requestId,
      value: { ts: 2 },
    });
    expect(await store().notices.findNote(randomUUID(), place)).toBeUndefined();
    // The place is taken by this notifier's other request only.
    expect(await store().notices.saveNote({ notifier, requestId: other, session: id, value: 1, place })).toBe(
      false,
    );
    expect(await store().notices.noteOf({ notifier, requestId: other })).toBeUndefined();
    const elsewhere = { notifier: randomUUID(), requestId: other, session: id, value: 1, place };
    expect(await store().notices.saveNote(elsewhere)).toBe(true);
    await store().sessions.delete(names);
    expect(await store().notices.noteOf(name)).toBeUndefined();
    expect(await store().notices.saveNote({ ...name, session: id, value: 1 })).toBe(false);
  });

  test('nobody is told that a request waits once they are told of its end [notice.ended]', async () => {
    const { session: id } = await session();
    const name = { notifier: 'pager', requestId: request() };
    const telling = { ...name, session: id, time: 60_000 };
    expect(await store().notices.beginNotifying(telling)).toBe(true);
    expect(await store().notices.beginNotifyingEnd({ ...name, session: id })).toBe(false);
    // Another attempt of either.
    expect(await store().notices.beginNotifying(telling)).toBe(false);
    expect(await store().notices.beginNotifyingEnd({ ...name, session: id })).toBe(false);
    await store().notices.endNotifying(name);
    expect(await store().notices.beginNotifyingEnd({ ...name, session: id })).toBe(true);
    expect(await store().notices.beginNotifyingEnd({ ...name, session: id })).toBe(true);
    expect(await store().notices.beginNotifying(telling)).toBe(false);
    // Who tells, and dies, holds nobody up for ever.
    const lost = { notifier: 'pager', requestId: request(), session: id };
    expect(await store().notices.beginNotifying({ ...lost, time: 0 })).toBe(true);
    expect(await store().notices.beginNotifyingEnd(lost)).toBe(true);
  });

  test('dead notices are read page by page, whatever becomes of the last one of a page [notice.dead]', async () => {
    const { session: id } = await session();
    const app = randomUUID();
    const bury = (noticeId: string) =>
      store().notices.addDeadNotice({
        ...{ noticeId, notifier: 'pager', app, session: id, requestId: request() },
        why: 'opened',
        ...{ error: 'down', attempts: 1, input: {} as DeliverNotice, taskQueue: 'holdfast' },
      });
    const ids = Array.from({ length: 6 }, () => randomUUID());
    // Several within one millisecond among them, most likely.
    await Promise.all(ids.map(bury));
    const read: DeadNotice[] = [];
    const begun = await store().notices.listDeadNotices({ app });
    for (;;) {
      const last = read.at(-1);
      const page = await store().notices.listDeadNotices({
        ...{ app, limit: 2 },
        ...(last === undefined ? {} : { after: last }),
      });
      read.push(...page);
      if (page.length < 2) break;
      const [, end] = page;
      // The last one goes, or dies again.
      if (end === undefined) break;
      if (read.length === 2) await store().notices.dropDeadNotice(end);
      if (read.length === 4) await bury(end.noticeId);
    }
    const known = read.map(({ noticeId }) => noticeId);
    expect(begun.map(({ noticeId }) => noticeId).sort()).toEqual(ids.sort());
    expect(known.slice(0, 6)).toEqual(begun.map(({ noticeId }) => noticeId));
    // That which has died again has its place at the end.
    expect(known.slice(6)).toEqual(known.slice(3, 4));
  });

  test('a delivery is taken by one, and answered as the first time ever after [webhook.in]', async () => {
    const delivery = { channel: randomUUID(), id: randomUUID() };
    const takers = await Promise.all(
      Array.from({ length: 20 }, async (_one, index) => {
        const holder = String(index);
        return { holder, ...(await store().messages.takeDelivery({ ...delivery, holder, time: 60_000 })) };
      }),
    );
    const [taker, ...others] = takers.filter(({ kind }) => kind === 'taken');
    expect(others).toEqual([]);
    const { holder = '' } = taker ?? {};
    expect(await store().messages.takeDelivery({ ...delivery, holder: 'late', time: 60_000 })).toEqual({
      kind: 'busy',
    });
    await store().messages.answerDelivery({ ...delivery, holder: 'late', answer: { status: 299 } });
    await store().messages.releaseDelivery({ ...delivery, holder: 'late' });
    expect(await store().messages.takeDelivery({ ...delivery, holder: 'late', time: 60_000 })).toEqual({
      kind: 'busy',
    });
    await store().messages.releaseDelivery({ ...delivery, holder });
    expect(await store().messages.takeDelivery({ ...delivery, holder: 'next', time: 60_000 })).toEqual({
      kind: 'taken',
    });
    const answer = { status: 201, body: { a: [null] } };
    await store().messages.answerDelivery({ ...delivery, holder: 'next', answer });
    for (const again of ['next', 'late']) {
      const known = await store().messages.takeDelivery({ ...delivery, holder: again, time: 60_000 });
      expect(known).toEqual({ kind: 'answered', answer });
    }
    const elsewhere = { channel: randomUUID(), id: delivery.id, holder: 'x', time: 60_000 };
    expect(await store().messages.takeDelivery(elsewhere)).toEqual({ kind: 'taken' });
  });

  test('a delivery whose holder is gone is taken by another one [webhook.in]', async () => {
    const delivery = { channel: randomUUID(), id: randomUUID() };
    expect(await store().messages.takeDelivery({ ...delivery, holder: 'a', time: -1 })).toEqual({
      kind: 'taken',
    });
    expect(await store().messages.takeDelivery({ ...delivery, holder: 'b', time: 60_000 })).toEqual({
      kind: 'taken',
    });
    await store().messages.answerDelivery({ ...delivery, holder: 'a', answer: { status: 200 } });
    expect(await store().messages.takeDelivery({ ...delivery, holder: 'c', time: 60_000 })).toEqual({
      kind: 'busy',
    });
  });
}
