import { randomUUID } from 'node:crypto';
import type { CallActions, SettledCall, Store } from '../../src/store/store.ts';
import { Unstorable } from '../../src/store/store-errors.ts';
import { type CallOutcome, errorOutcome } from './failed-call.ts';

/**
 * Settles a call with what it has come to, or with an error where that can't be stored.
 *
 * @param done what is done whatever becomes of the call.
 */
export async function settleCall(
  store: Pick<Store, 'settleCall'>,
  { session, callKey, tool }: { session: string; callKey: string; tool: string },
  { answersError: _answersError, detached, ...outcome }: CallOutcome,
  done: CallActions,
): Promise<SettledCall> {
  const isBare = outcome.failed && Object.keys(outcome.actions).length === 0;
  const actions = isBare ? done : outcome.actions;
  const intermediate = detached === undefined ? {} : { willContinue: true as const };
  const token = randomUUID();
  try {
    return await store.settleCall({ session, callKey, ...outcome, ...intermediate, actions, token });
  } catch (error) {
    if (!(error instanceof Unstorable)) throw error;
    const text = `Error in tool '${tool}': its result can't be stored; it has run`;
    const failure = { ...errorOutcome(new Error(text)), actions: done };
    return await store.settleCall({ session, callKey, ...failure, ...intermediate, token });
  }
}
