import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { losingAnswers } from '../statements.ts';
import { type Begun, newNames, Turn } from '../turns/turn.ts';
import { takeUp } from './retried-turn.ts';

export function retryStateSuite(store: () => PostgresStore): void {
  test('a retry begins with the tools that its calls had, and so does a retry of it [session.retry] [registry.turn]', async () => {
    const names = newNames();
    const old = new Turn(store(), { names });
    await old.opened(1, { stateDelta: { 'temp:gone': 1 } });
    const toolEdits = [{ add: 'made', args: { n: 1 } }];
    const commit = () => old.commit(1, 1, { retryable: true, toolEdits });
    await losingAnswers(commit);
    await old.settle(1, 0, { ok: 1 });
    await old.opened(2);
    await old.commit(2, 1, { retryable: true });
    await old.settle(2, 0, { ok: 1 });
    await old.opened(3);
    await old.commit(3, 0);
    const retried = async (callKey: string) => {
      const { turn } = await takeUp(
        store(),
        names,
        await store().sessions.prepareRetry({ ...names, callKey }),
      );
      const begun = (await turn.begin(1, 0)) as Begun;
      await turn.settle(1, 0, { ok: 2 });
      const opened = await turn.opened(2);
      await turn.commit(2, 0);
      const { remembered, state } = begun;
      return { callKey: turn.callKey(1, 0), remembered, state, opened: opened.remembered };
    };
    const remembered = { toolEdits, ends: false };
    const first = await retried(old.callKey(2, 0));
    expect(first).toMatchObject({ remembered, opened: remembered, state: {} });
    expect(await retried(first.callKey)).toMatchObject({ remembered, opened: remembered });
    expect(await retried(old.callKey(1, 0))).toMatchObject({ remembered, opened: remembered });
  });
}
