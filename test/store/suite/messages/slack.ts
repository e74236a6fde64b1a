import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { losingAnswers } from '../statements.ts';

export function slackSuite(store: () => PostgresStore): void {
  test('what Slack sends is heard by one, who hears so however often it asks [slack.replay]', async () => {
    const id = randomUUID();
    const heard = await Promise.all(
      Array.from({ length: 20 }, async (_one, index) => {
        const holder = String(index);
        return { holder, isFirst: await store().messages.claimSlackDelivery({ id, holder }) };
      }),
    );
    const [first, ...others] = heard.filter(({ isFirst }) => isFirst);
    expect(others).toEqual([]);
    for (const { holder } of heard) {
      expect(await store().messages.claimSlackDelivery({ id, holder })).toBe(holder === first?.holder);
    }
    expect(await store().messages.claimSlackDelivery({ id: randomUUID(), holder: '1' })).toBe(true);
  });

  test('a click is not lost where the store’s answer is [slack.replay]', async () => {
    const id = randomUUID();
    expect(await losingAnswers(() => store().messages.claimSlackDelivery({ id, holder: 'a' }))).toBe(true);
    expect(await losingAnswers(() => store().messages.claimSlackDelivery({ id, holder: 'b' }))).toBe(false);
  });

  test('a thread is the session that it was first, until that is deleted [slack.thread]', async () => {
    const thread = { team: 'T0A', channel: 'C0A', ts: `1.${Date.now()}` };
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
    expect(await store().messages.findThread(thread)).toBeUndefined();
    await store().sessions.create(names);
    await losingAnswers(() => store().messages.keepThread(thread, names));
    await store().messages.keepThread(thread, { ...names, userId: 'eve' });
    expect(await losingAnswers(() => store().messages.findThread(thread))).toEqual(names);
    expect(await store().messages.findThread({ ...thread, team: 'T0B' })).toBeUndefined();
    await store().sessions.delete(names);
    expect(await store().messages.findThread(thread)).toBeUndefined();
  });
}
