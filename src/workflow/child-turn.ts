import {
  ApplicationFailure,
  CancelledFailure,
  TerminatedFailure,
  TimeoutFailure,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowFailure,
  type ChildWorkflowHandle,
  defineSignal,
  isCancellation,
  setHandler,
  startChild,
  type Workflow,
} from '@temporalio/workflow';
import { take } from '../contract/check.ts';
import type { ErrorCode } from '../contract/error-codes.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import { WORKFLOW_CHECKS } from '../contract/workflow-checks.ts';
import { fairnessKeyOf, turnSummary } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import { AGENT_TURN, INTERRUPT, TURN_ENDED } from '../protocol/names.ts';
import type { TurnResult } from '../protocol/turn.ts';
import { AgentTurnFailed, AgentTurnInterrupted, invalidTurn } from './agent-turn-errors.ts';
import type { AgentTurn, CheckedTurn } from './checked-turn.ts';

export type ChildOptions = Pick<AgentTurn, 'taskQueue' | 'agent' | 'priority' | 'parentClosePolicy'>;
type TurnWorkflow = (start: CheckedTurn['start']) => Promise<TurnResult>;

/**
 * Runs a turn as a child of this workflow. Undefined where the session answers another message.
 *
 * @throws AgentTurnInterrupted, AgentTurnFailed where its run was ended from outside.
 */
export async function runChildTurn(
  turn: CheckedTurn,
  { taskQueue, agent, priority, parentClosePolicy = 'REQUEST_CANCEL' }: ChildOptions,
): Promise<TurnResult | undefined> {
  const { workflowId, invocationId, start } = turn;
  const { app, userId, sessionId, messageId } = start;
  const begin = () =>
    startChild<TurnWorkflow & Workflow>(AGENT_TURN, {
      workflowId,
      ...defined({ taskQueue }),
      args: [start],
      memo: { invocationId, messageId },
      parentClosePolicy,
      cancellationType: 'WAIT_CANCELLATION_COMPLETED',
      staticSummary: turnSummary({ app, sessionId, agent }),
      priority: {
        fairnessKey: fairnessKeyOf(app, userId),
        ...defined({ priorityKey: priority }),
      },
    });
  try {
    if (parentClosePolicy === 'REQUEST_CANCEL') return await (await begin()).result();
    return await untilTurnEnded(invocationId, (told) => ofItsOwn(begin, told, invocationId));
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
    // The end of the turns that it goes on with changes nothing here.
    closed.catch(() => undefined);
    const ended = Promise.race([closed, told]);
    try {
      return await Promise.race([ended, scope.cancelRequested]);
    } catch (error) {
      if (!scope.consideredCancelled) throw error;
      const interrupt = { v: PROTOCOL_VERSION, invocationId, reason: 'its workflow was cancelled' };
      // A run that has closed by now gets no signal, and has ended.
      await Promise.allSettled([child.signal(INTERRUPT, interrupt), ended]);
      throw error;
    }
  });
}

/** A turn's failure is its result; a run that was ended from outside had none to give. */
function endOf({ cause }: ChildWorkflowFailure, invocationId: string): TurnResult {
  const interrupted = (code: ErrorCode, message: string) =>
    new AgentTurnInterrupted({ invocationId, status: 'interrupted', error: { code, message } });
  if (cause instanceof CancelledFailure) throw interrupted('CANCELLED', 'the run of the turn was cancelled');
  if (cause instanceof TerminatedFailure)
    throw interrupted('TERMINATED', 'the run of the turn was terminated');
  if (cause instanceof TimeoutFailure) throw interrupted('TIMED_OUT', 'the run of the turn has timed out');
  if (!(cause instanceof ApplicationFailure)) {
    const message = cause?.message ?? 'the turn failed';
    throw new AgentTurnFailed({
      invocationId,
      status: 'failed',
      error: { code: 'UNKNOWN' satisfies ErrorCode, message },
    });
  }
  const result: unknown = cause.type === 'TurnFailed' ? cause.details?.[0] : undefined;
  if (isResult(result)) return result;
  // The message of the failure names the refused field, and the remedy.
  throw cause.type === 'InvalidStart' ? invalidTurn(cause.message, ...(cause.details ?? [])) : cause;
}

function isResult(value: unknown): value is TurnResult {
  return take(WORKFLOW_CHECKS.turnEnded, value).problem === undefined;
}

interface Waiting {
  invocationId: string;
  resolve(result: TurnResult): void;
}

/** Of this workflow: each has modules of its own. */
const waiting = new Set<Waiting>();
let isHandled = false;

/** The end of a turn whose run goes on with others, as the run tells; for as long as `work` takes. */
async function untilTurnEnded<T>(
  invocationId: string,
  work: (told: Promise<TurnResult>) => Promise<T>,
): Promise<T> {
  if (!isHandled) {
    isHandled = true;
    setHandler(
      defineSignal<[TurnResult]>(TURN_ENDED),
      (given) => {
        if (!isResult(given)) return;
        for (const each of waiting) if (each.invocationId === given.invocationId) each.resolve(given);
      },
      {
        description:
          'from turns that this workflow has started: one has ended, and its run goes on with others',
      },
    );
  }
  const { promise, resolve } = Promise.withResolvers<TurnResult>();
  const one = { invocationId, resolve };
  waiting.add(one);
  try {
    return await work(promise);
  } finally {
    waiting.delete(one);
  }
}
