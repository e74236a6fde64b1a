import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { losingAnswers } from '../statements.ts';

export function channelSuite(store: () => PostgresStore): void {
  test('a delivery that is taken for ever is one attempt’s, who hears so however often it asks [slack.replay]', async () => {
    const delivery = { channel: 'slack', id: randomUUID() };
    const take = async (holder: string) =>
      (await store().messages.takeDelivery({ ...delivery, holder })).kind === 'taken';
    const attempts = await Promise.all(
      Array.from({ length: 20 }, async (_one, index) => ({
        holder: String(index),
        isFirst: await take(String(index)),
      })),
    );
    const [first, ...others] = attempts.filter(({ isFirst }) => isFirst);
    expect(first).toBeDefined();
    expect(others).toEqual([]);
    for (const { holder } of attempts) expect(await take(holder)).toBe(holder === first?.holder);
    const another = { ...delivery, channel: 'webhook:slack', holder: '1' };
    expect(await store().messages.takeDelivery(another)).toEqual({ kind: 'taken' });
  });

  test('a click is not lost where the store’s answer is [slack.replay]', async () => {
    const delivery = { channel: 'slack', id: randomUUID() };
    const take = (holder: string) =>
      losingAnswers(() => store().messages.takeDelivery({ ...delivery, holder }));
    expect(await take('a')).toEqual({ kind: 'taken' });
    expect(await take('b')).toEqual({ kind: 'busy' });
  });

  test('a thread is the session that it was first, until that is deleted [slack.thread]', async () => {
    const thread = { channel: 'slack', thread: `T0A:C0A:1.${Date.now()}` };
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
    expect(await store().messages.findThread(thread)).toBeUndefined();
    await store().sessions.create(names);
    await losingAnswers(() => store().messages.keepThread(thread, names));
    await store().messages.keepThread(thread, { ...names, userId: 'eve' });
    expect(await losingAnswers(() => store().messages.findThread(thread))).toEqual(names);
    expect(await store().messages.findThread({ ...thread, channel: 'teams' })).toBeUndefined();
    await store().sessions.delete(names);
    expect(await store().messages.findThread(thread)).toBeUndefined();
  });
}
