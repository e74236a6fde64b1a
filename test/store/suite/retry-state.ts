import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../src/store/postgres-store.ts';
import { takeUp } from './retried-turn.ts';
import { losingAnswers } from './statements.ts';
import { type Begun, newNames, Turn } from './turn.ts';

export function retryStateSuite(store: () => PostgresStore): void {
  test('a retry begins with the temporary state that its calls need, and so does a retry of it [session.retry] [registry.turn]', async () => {
    const names = newNames();
    const old = new Turn(store(), { names });
    await old.opened(1, { stateDelta: { 'temp:gone': 1 } });
    const commit = () => old.commit(1, 1, { retryable: true, scratch: { 'temp:tools': ['made'] } });
    await losingAnswers(commit);
    await old.settle(1, 0, { ok: 1 });
    await old.opened(2);
    await old.commit(2, 1, { retryable: true });
    await old.settle(2, 0, { ok: 1 });
    await old.opened(3);
    await old.commit(3, 0);
    const retried = async (callKey: string) => {
      const { turn } = await takeUp(store(), names, await store().prepareRetry({ ...names, callKey }));
      const begun = await turn.begin(1, 0);
      await turn.settle(1, 0, { ok: 2 });
      const opened = await turn.opened(2);
      await turn.commit(2, 0);
      return { callKey: turn.callKey(1, 0), state: (begun as Begun).state, opened: opened.state };
    };
    const state = { 'temp:tools': ['made'] };
    const first = await retried(old.callKey(2, 0));
    expect(first).toMatchObject({ state, opened: state });
    expect(await retried(first.callKey)).toMatchObject({ state, opened: state });
    expect(await retried(old.callKey(1, 0))).toMatchObject({ state, opened: state });
  });
}
