import {
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import {
  ActivityFailure,
  CancellationScope,
  ChildWorkflowFailure,
  type ChildWorkflowHandle,
  isCancellation,
  scheduleActivity,
  startChild,
  type Workflow,
} from '@temporalio/workflow';
import { fairnessKeyOf } from '../protocol/identity.ts';
import { AGENT_TURN, AWAIT_TURN, DEFAULT_TASK_QUEUE, INTERRUPT } from '../protocol/names.ts';
import type { AwaitTurnInput } from '../protocol/own-workflow.ts';
import type { TurnResult } from '../protocol/turn.ts';
import { PROTOCOL_VERSION } from '../protocol/version.ts';
import { type AgentAnswer, answerOf } from './agent-answer.ts';
import { AgentTurnFailed, AgentTurnInterrupted, MessageRejected } from './agent-turn-errors.ts';
import { type AgentTurn, type OutgoingTurn, outgoingTurn } from './outgoing-turn.ts';
import { untilTold } from './told-ends.ts';
import { turnActivityOptions } from './turn-activity-options.ts';

/**
 * Runs one turn of an agent and waits for its answer, weeks if people have to be asked. The turn is a child of this workflow, in
 * the session's own place: the same that a client's message begins. Where the session answers another message, this one is given to
 * it and waited for. Cancelling the scope that this is called in ends the turn.
 *
 * @throws AgentTurnFailed, AgentTurnInterrupted where there is no answer.
 * @throws MessageRejected by the policy `reject`, while the session answers another message.
 * @throws ApplicationFailure of type `InvalidTurn`, naming the field.
 * @throws CancelledFailure, or what contains one, where the scope was cancelled; the turn has ended then.
 * @example
 * const { text } = await runAgent({ app: 'shop', userId: 'ada', sessionId: 'audit', message: 'Which invoices are open?' });
 */
export async function runAgent<Output = unknown>(given: AgentTurn): Promise<AgentAnswer<Output>> {
  const { taskQueue = DEFAULT_TASK_QUEUE, content = false } = given;
  const turn = outgoingTurn(given);
  const { app, userId, sessionId, messageId } = turn.start;
  const result = (await runChild(turn, { ...given, taskQueue })) ?? (await joinQueue(turn, given, taskQueue));
  return await answerOf<Output>({ app, userId, sessionId, messageId, taskQueue, content }, result);
}

type TurnWorkflow = (start: OutgoingTurn['start']) => Promise<TurnResult>;

/** Undefined where the session answers another message. */
async function runChild(
  turn: OutgoingTurn,
  { taskQueue, agent, priority, parentClosePolicy = 'REQUEST_CANCEL' }: AgentTurn,
): Promise<TurnResult | undefined> {
  const { workflowId, invocationId, start } = turn;
  const { app, userId, sessionId, messageId } = start;
  const begin = () =>
    startChild<TurnWorkflow & Workflow>(AGENT_TURN, {
      workflowId,
      ...(taskQueue === undefined ? {} : { taskQueue }),
      args: [start],
      memo: { invocationId, messageId },
      parentClosePolicy,
      cancellationType: 'WAIT_CANCELLATION_COMPLETED',
      staticSummary: `${agent ?? app} · ${sessionId}`.slice(0, 60).toWellFormed(),
      priority: {
        fairnessKey: fairnessKeyOf(app, userId),
        ...(priority === undefined ? {} : { priorityKey: priority }),
      },
    });
  try {
    if (parentClosePolicy === 'REQUEST_CANCEL') return await (await begin()).result();
    return await untilTold(invocationId, (told) => ofItsOwn(begin, told, invocationId));
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    if (CancellationScope.current().consideredCancelled && isCancellation(error)) throw error;
    if (error instanceof ChildWorkflowFailure) return endOf(error, invocationId);
    throw error;
  }
}

/** The run may go on with messages of others: it is neither cancelled nor waited for with the turn. */
async function ofItsOwn(
  begin: () => Promise<ChildWorkflowHandle<TurnWorkflow & Workflow>>,
  told: Promise<TurnResult>,
  invocationId: string,
): Promise<TurnResult> {
  const scope = CancellationScope.current();
  if (scope.consideredCancelled) throw new CancelledFailure('CANCELLED');
  return await CancellationScope.nonCancellable(async () => {
    const child = await begin();
    const closed = child.result();
    // Of what it goes on with nobody here wants to know.
    closed.catch(() => undefined);
    const ended = Promise.race([closed, told]);
    try {
      return await Promise.race([ended, scope.cancelRequested]);
    } catch (error) {
      if (!scope.consideredCancelled) throw error;
      const interrupt = { v: PROTOCOL_VERSION, invocationId, reason: 'its workflow was cancelled' };
      // A run that has closed by now hears nothing, and has ended.
      await Promise.allSettled([child.signal(INTERRUPT, interrupt), ended]);
      throw error;
    }
  });
}

async function joinQueue(
  { start }: OutgoingTurn,
  { policy }: AgentTurn,
  taskQueue: string,
): Promise<TurnResult> {
  const input: AwaitTurnInput = {
    v: PROTOCOL_VERSION,
    turn: start,
    ...(policy === undefined ? {} : { policy }),
  };
  const options = turnActivityOptions({ ...start, taskQueue }, `turn of ${start.sessionId}`);
  try {
    return await scheduleActivity<TurnResult>(AWAIT_TURN, [input], options);
  } catch (error) {
    if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) throw error;
    const { type, message } = error.cause;
    throw type === 'HOLDFAST_MESSAGE_REJECTED' ? new MessageRejected(message) : error.cause;
  }
}

/** A turn's failure is its result; a run that was ended from outside had none to give. */
function endOf({ cause }: ChildWorkflowFailure, invocationId: string): TurnResult {
  const interrupted = (code: string, message: string) =>
    new AgentTurnInterrupted({ invocationId, status: 'interrupted', error: { code, message } });
  if (cause instanceof CancelledFailure) throw interrupted('CANCELLED', 'the run of the turn was cancelled');
  if (cause instanceof TerminatedFailure)
    throw interrupted('TERMINATED', 'the run of the turn was terminated');
  if (cause instanceof TimeoutFailure) throw interrupted('TIMED_OUT', 'the run of the turn has timed out');
  if (!(cause instanceof ApplicationFailure)) {
    const message = cause?.message ?? 'the turn failed';
    throw new AgentTurnFailed({ invocationId, status: 'failed', error: { code: 'UNKNOWN', message } });
  }
  const result: unknown = cause.type === 'TurnFailed' ? cause.details?.[0] : undefined;
  if (isResult(result)) return result;
  // What was asked for was refused: the failure says which field, and what to do.
  throw cause;
}

function isResult(value: unknown): value is TurnResult {
  return typeof value === 'object' && value !== null && 'invocationId' in value && 'status' in value;
}
