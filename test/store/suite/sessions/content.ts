import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { DraftEvent } from '../../../../src/store/sessions/session-store.ts';
import { inTier } from '../../../setup/tier.ts';
import { type Begun, Turn } from '../turns/turn.ts';

export function contentSuite(store: () => PostgresStore): void {
  test('characters that PostgreSQL can not hold become U+FFFD wherever they stand [store.content]', async () => {
    const bad = 'a\0b\ud83dc\udc00d';
    const good = 'a\ufffdb\ufffdc\ufffdd';
    const turn = new Turn(store());
    await turn.opened(1, { text: bad, stateDelta: { [bad]: bad, [`temp:${bad}`]: bad } });
    const row = { callKey: turn.callKey(1, 0), index: 0, callId: bad, tool: bad, args: { [bad]: bad } };
    await turn.commit(1, 1, { tool: bad, rows: [row], actions: { stateDelta: { [`app:${bad}`]: [bad] } } });
    expect(((await turn.begin(1, 0, true)) as Begun).args).toEqual({ [good]: good });
    const once = { session: turn.session, callKey: turn.callKey(1, 0) };
    expect(await store().turns.recordOnce({ ...once, key: bad, value: { [bad]: bad } })).toEqual({
      [good]: good,
    });
    await store().turns.recordCallFailure({ ...once, error: bad });
    expect(await turn.settle(1, 0, { [bad]: bad }, { stateDelta: { [bad]: [bad] } })).toMatchObject({
      response: { [good]: good },
    });
    const { events, state } = await turn.opened(2);
    expect(events[0]?.event.content?.parts).toEqual([{ text: good }]);
    expect(events[2]?.event.content?.parts?.[0]?.functionResponse).toEqual({
      id: 'call_0',
      name: good,
      response: { [good]: good },
    });
    expect(state).toEqual({ [good]: [good], [`temp:${good}`]: good, [`app:${good}`]: [good] });
    await turn.commit(2, 0, { text: bad });
    expect(await store().turns.readReference(turn.names, `${turn.invocationId}.2`)).toBe(good);
  });

  test('who is named as an event’s author or branch by a plugin may be named anything [plugin.events]', async () => {
    const [bad, good] = ['x\0\ud800', 'x\ufffd\ufffd'];
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1, { before: [turn.said('hm', {}, bad)], branch: bad });
    await turn.settle(1, 0, { ok: true });
    const { responses } = await turn.peek(2);
    await turn.opened(2, { responses: { ...responses, author: bad, branch: bad } as DraftEvent });
    expect((await turn.events()).slice(1).map(({ event }) => [event.author, event.branch])).toEqual([
      [good, undefined],
      ['clerk', good],
      [good, good],
    ]);
  });

  test('parts come back as they were, the order of their keys too [store.content]', async () => {
    const parts = fc.array(
      fc.record({ text: fc.string({ unit: 'grapheme' }), thoughtSignature: fc.base64String(), x: fc.json() }),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), parts, async (value, sent) => {
        const own = new Turn(store());
        await own.opened(1);
        await own.commit(1, 1);
        const response = { value, parts: sent };
        const expected = JSON.stringify(response).toWellFormed();
        const settled = await own.settle(1, 0, response);
        if (!expected.includes('\\u0000') && !expected.includes('\\ud')) {
          expect(JSON.stringify(settled.response)).toBe(expected);
          const { events } = await own.opened(2);
          const part = events.at(-1)?.event.content?.parts?.[0];
          expect(JSON.stringify(part?.functionResponse?.response)).toBe(expected);
        }
      }),
      { numRuns: inTier(5, 40) },
    );
  });

  test('what the database refuses, and what is no JSON, fails its own call only [store.content]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 3);
    const outcomes = await Promise.allSettled([
      turn.settle(1, 0, { ok: 0 }),
      store().turns.settleCall({
        session: turn.session,
        callKey: `${turn.invocationId}.99999999999.0`,
        response: {},
        failed: false,
        actions: {},
      }),
      turn.settle(1, 2, { ok: 2 }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: { code: 'HOLDFAST_UNSTORABLE', retryable: false } });
    const circle: Record<string, unknown> = {};
    circle.circle = circle;
    let nested: Record<string, unknown> = {};
    for (let level = 0; level < 100_000; level += 1) nested = { nested };
    for (const response of [circle, nested, { big: 1n }]) {
      await expect(turn.settle(1, 1, response)).rejects.toMatchObject({ code: 'HOLDFAST_UNSTORABLE' });
    }
  });

  test('large content: 40 calls with arguments of 200 KiB and results of 64 KiB [store.content]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const args = { text: 'x"\\é'.repeat(50 * 1024) };
    const indexes = [...Array(40).keys()];
    await turn.commit(1, 40, {
      rows: indexes.map((index) => ({
        callKey: turn.callKey(1, index),
        index,
        callId: `call_${index}`,
        tool: 'pay',
        args,
      })),
    });
    const begun = await Promise.all(indexes.map((index) => turn.begin(1, index, true)));
    for (const call of begun) expect((call as Begun).args).toEqual(args);
    await Promise.all(indexes.map((index) => turn.settle(1, index, { data: `${index}`.repeat(32 * 1024) })));
    const { events } = await turn.opened(2);
    expect(events.at(-1)?.event.content?.parts).toHaveLength(40);
  });
}
