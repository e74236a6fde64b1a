import { ApplicationFailure } from '@temporalio/common';
import {
  ActivityFailure,
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  scheduleActivity,
} from '@temporalio/workflow';
import type { Interrupt } from '../contract/turns.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import { defined } from '../protocol/json.ts';
import { AWAIT_TURN, DEFAULT_TASK_QUEUE, INTERRUPT } from '../protocol/names.ts';
import type { AwaitTurnInput } from '../protocol/own-workflow.ts';
import type { TurnResult } from '../protocol/turn.ts';
import { turnActivityOptions } from './activities.ts';
import { type AgentAnswer, answerOfTurn } from './agent-answer.ts';
import { AgentTurnRejected, invalidTurn } from './agent-turn-errors.ts';
import { type AgentTurn, type CheckedTurn, checkedTurn } from './checked-turn.ts';
import { runChildTurn } from './child-turn.ts';

/**
 * Runs one turn of an agent and waits for its answer, weeks if people have to be asked. The turn is a child of this workflow, in
 * the session's own place: the same that a client's message begins. Where the session answers another message, this one is given to
 * it and waited for. Cancelling the scope that this is called in ends the turn.
 *
 * @throws AgentTurnFailed, AgentTurnInterrupted where there is no answer.
 * @throws AgentTurnRejected by the policy `reject`, while the session answers another message.
 * @throws ApplicationFailure of type `InvalidTurn`, naming the field.
 * @throws CancelledFailure, or what contains one, where the scope was cancelled; the turn has ended then, or ends as soon as it begins.
 * @example
 * const { text } = await runAgent({ app: 'shop', userId: 'ada', sessionId: 'audit', message: 'Which invoices are open?' });
 */
export async function runAgent<Output = unknown>(given: AgentTurn): Promise<AgentAnswer<Output>> {
  const { taskQueue = DEFAULT_TASK_QUEUE, content = false } = given;
  const turn = checkedTurn(given);
  const { app, userId, sessionId, messageId } = turn.start;
  const result =
    (await runChildTurn(turn, { ...given, taskQueue })) ?? (await joinQueue(turn, given, taskQueue));
  return await answerOfTurn<Output>({ app, userId, sessionId, messageId, taskQueue, content }, result);
}

async function joinQueue(turn: CheckedTurn, { policy }: AgentTurn, taskQueue: string): Promise<TurnResult> {
  const { start } = turn;
  const input: AwaitTurnInput = {
    v: PROTOCOL_VERSION,
    turn: start,
    ...defined({ policy }),
  };
  const options = turnActivityOptions({ ...start, taskQueue }, `turn of ${start.sessionId}`);
  try {
    return await scheduleActivity<TurnResult>(AWAIT_TURN, [input], options);
  } catch (error) {
    if (CancellationScope.current().consideredCancelled && isCancellation(error)) {
      await CancellationScope.nonCancellable(() => withdraw(turn));
      throw error;
    }
    if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) throw error;
    const { type, message } = error.cause;
    if (type === 'HOLDFAST_MESSAGE_REJECTED') throw new AgentTurnRejected(message);
    throw type === 'HOLDFAST_INVALID_TURN' ? invalidTurn(message) : error.cause;
  }
}

/** Ends the turn, as soon as it begins where its message waits. An activity that is between two attempts hears of no cancellation. */
async function withdraw({ workflowId, invocationId }: CheckedTurn): Promise<void> {
  const order: Interrupt = {
    v: PROTOCOL_VERSION,
    invocationId,
    reason: 'its workflow was cancelled',
    queued: true,
  };
  // It only fails where the run has closed: then nothing of the turn is left to end.
  await Promise.allSettled([getExternalWorkflowHandle(workflowId).signal(INTERRUPT, order)]);
}
