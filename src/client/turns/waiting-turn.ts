import type { ClientContext } from '../client-context.ts';
import { hasEnded, type SentTurn } from './await-result.ts';
import { latestRun } from './open-run.ts';
import type { TurnNames } from './turn-names.ts';

/** The turn that a message is for which begins none, as it would be found by the message that began it. */
export async function waitingTurn(
  context: ClientContext,
  names: TurnNames,
  invocationId: string,
): Promise<SentTurn> {
  const { session, workflowId } = names;
  const run = await latestRun(context.temporal, workflowId);
  const recorded = await context.store?.turns.findInvocation(session, invocationId);
  const memo = run?.memo?.invocationId === invocationId ? run.memo.messageId : undefined;
  const messageId = recorded?.messageId ?? (typeof memo === 'string' ? memo : names.messageId);
  return {
    names: { ...names, invocationId, messageId },
    start: { ...session, messageId },
    runId: run?.runId ?? '',
    taskQueue: run?.taskQueue ?? context.taskQueue,
    disposition: 'attached',
    // Another turn may run by now.
    ...(recorded !== undefined && hasEnded(recorded) ? { ended: recorded } : {}),
  };
}
