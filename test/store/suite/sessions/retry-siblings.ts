import { expect, test } from 'vitest';
import { visibleEvents } from '../../../../src/flows/event-visibility.ts';
import { contentsOf } from '../../../../src/flows/perspective-contents.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { newNames, Turn } from '../turns/turn.ts';
import { commitCalls, LARGE, takeUp } from './retried-turn.ts';

export function retrySiblingSuite(store: () => PostgresStore): void {
  const cutOff = 'this call was cut off by the end of its turn; it may have run';

  /** Left behind by `terminate`: of its calls one is settled, one never began, one began. */
  async function brokenTurn(names: SessionNames, response: Record<string, unknown> = { ok: 0 }) {
    const turn = new Turn(store(), { names });
    await turn.opened(1);
    await commitCalls(turn, 1);
    await turn.begin(1, 0);
    await turn.settle(1, 0, response);
    await turn.begin(1, 2);
    return turn;
  }

  async function nobody() {}
  async function nextTurn(broken: Turn) {
    const next = new Turn(store(), { names: broken.names });
    await next.opened(1);
    await next.commit(1, 0);
  }
  async function otherRetry(broken: Turn) {
    const callKey = broken.callKey(1, 1);
    await store().sessions.prepareRetry({ ...broken.names, callKey, interrupts: true });
  }

  test.each([
    ['the retry', nobody],
    ['the next turn', nextTurn],
    ['another retry', otherRetry],
  ])('siblings that never settled run anew where %s ends their turn [session.retry]', async (_by, ends) => {
    const names = newNames();
    const broken = await brokenTurn(names, { error: cutOff });
    await ends(broken);
    const callKey = broken.callKey(1, 2);
    const prepared = await store().sessions.prepareRetry({ ...names, callKey, interrupts: true });
    const { turn } = await takeUp(store(), names, prepared);
    // A tool may say the same.
    expect(await turn.begin(1, 0)).toMatchObject({ kind: 'settled', response: { error: cutOff } });
    expect(await turn.begin(1, 1, true)).toMatchObject({ kind: 'started', attempt: 1, args: LARGE });
    expect(await turn.begin(1, 2)).toMatchObject({ kind: 'started', attempt: 1, unknown: false });
    await turn.settle(1, 1, { ok: 1 });
    await turn.settle(1, 2, { ok: 2 });
    const { events } = await turn.opened(2);
    const [, , responses] = contentsOf(visibleEvents(events), { agent: 'clerk', include: 'default' });
    expect(responses?.parts?.map(({ functionResponse }) => functionResponse?.response)).toEqual([
      { error: cutOff },
      { ok: 1 },
      { ok: 2 },
      { error: 'unknown tool' },
    ]);
  });

  test('siblings that had begun run anew, too', async () => {
    const names = newNames();
    const broken = await brokenTurn(names);
    const callKey = broken.callKey(1, 1);
    const prepared = await store().sessions.prepareRetry({ ...names, callKey, interrupts: true });
    const { turn } = await takeUp(store(), names, prepared);
    expect(await turn.begin(1, 2)).toMatchObject({ kind: 'started', attempt: 1, unknown: false });
  });
}
