import { runKeyOfCallKey } from '../../protocol/identity.ts';
import type { ClientContext } from '../client-context.ts';
import { latestRun } from './open-run.ts';
import type { TurnNames } from './turn-names.ts';

/**
 * The turn of a session that an invocation belongs to: itself, or, of an agent that a call runs in a session of its own, that of the
 * call, however deep.
 */
export async function rootInvocationOf(
  { store, temporal }: ClientContext,
  { session, workflowId }: Pick<TurnNames, 'session' | 'workflowId'>,
  invocationId: string,
): Promise<string> {
  if (store === undefined || (await store.turns.findInvocation(session, invocationId)) !== undefined) {
    return invocationId;
  }
  const callerOf = async (called: string) => {
    const { children } = await store.turns.findChildren(session, { steps: [], runKeys: [called] });
    const child = children.find((each) => each.runKey === called);
    return child && runKeyOfCallKey(child.callKey);
  };
  let runKey = invocationId;
  for (let caller = await callerOf(runKey); caller !== undefined; caller = await callerOf(runKey)) {
    runKey = caller;
  }
  if (runKey === invocationId || (await store.turns.findInvocation(session, runKey)) !== undefined)
    return runKey;
  // The call is of an agent that runs in the session itself: of the turn that is under way.
  const run = await latestRun(temporal, workflowId);
  return typeof run?.memo?.invocationId === 'string' ? run.memo.invocationId : runKey;
}
