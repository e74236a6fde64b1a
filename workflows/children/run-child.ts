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
  executeChild,
  isCancellation,
  sleep,
} from '@temporalio/workflow';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import { RESULTS, resultProblem, UNUSABLE } from '../../src/protocol/activity-results.ts';
import type { ChildStart } from '../../src/protocol/agent-run.ts';
import { childWorkflowIdOf } from '../../src/protocol/identity.ts';
import { defined } from '../../src/protocol/json.ts';
import { AGENT_TURN } from '../../src/protocol/names.ts';
import type { AgentTurnStart, InvocationOutcome, TurnError, TurnResult } from '../../src/protocol/turn.ts';
import { turnPriority } from '../activities.ts';
import { labelsOfChild } from '../turn/search-attributes.ts';
import type { Turn } from '../turn/turn.ts';
import { type InvocationState, runConfigOf } from '../turn/turn-state.ts';

/** Between two looks whether a run of this child that is still there has gone, milliseconds: its worker may be away for days. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

export interface ChildToRun {
  start: ChildStart;
  taskQueue?: string;
  /** The call whose agent it is. */
  callKey?: string;
}

/** How a child has ended. `terminated` and `timed out`: without a word in the store. */
export interface EndedChild {
  status: InvocationOutcome['status'] | 'terminated' | 'timed out';
  /** Last seq of its events; 0 where it has said none. */
  seq: number;
  escalated?: true;
  error?: TurnError;
  /** Usage of its invocation so far, if it has reported it. */
  usage?: TurnUsage;
}

/**
 * Runs an agent as a child, to its end. It is cancelled with the scope that this is called in, and waited for.
 *
 * @throws CancelledFailure once it has ended, where that scope is cancelled.
 */
export async function runChild(
  { start, children }: Turn,
  state: InvocationState,
  { start: child, taskQueue, callKey }: ChildToRun,
): Promise<EndedChild> {
  const { runKey, agent, path, rootWorkflowId } = child;
  const { app, userId, sessionId } = start;
  const { priority, traceparent } = state;
  const runConfig = runConfigOf(start, state);
  const given = { app, userId, sessionId, runConfig, traceparent, priority, child };
  children.began({ runKey, agent: agent.name, path, callKey });
  try {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        const result = await executeChild<(given: AgentTurnStart) => Promise<TurnResult>>(AGENT_TURN, {
          workflowId: childWorkflowIdOf(rootWorkflowId, runKey),
          args: [given],
          parentClosePolicy: 'REQUEST_CANCEL',
          cancellationType: 'WAIT_CANCELLATION_COMPLETED',
          staticSummary: path.join(' / ').slice(0, 200),
          typedSearchAttributes: labelsOfChild(agent.name),
          priority: turnPriority(start, priority),
          ...defined({ taskQueue }),
        });
        return endOf(result);
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        // A turn that was reset finds the one that it had started before, which is on its way out.
        await sleep(pause, { summary: `an earlier run of ${agent.name} ends` });
      }
    }
  } catch (error) {
    if (CancellationScope.current().consideredCancelled && isCancellation(error)) throw error;
    if (error instanceof ChildWorkflowFailure) return endOfFailure(error);
    throw error;
  } finally {
    children.ended(runKey);
  }
}

/** Anybody who may write to Temporal may have answered in its place. */
function endOf(result: TurnResult): EndedChild {
  const message = resultProblem(`workflow ${AGENT_TURN}`, RESULTS.turn, result);
  if (message !== undefined) return { status: 'failed', seq: 0, error: { ...UNUSABLE, message } };
  const { status, error, events, escalated, usage } = result;
  return { status, seq: events.to, usage, escalated: escalated || undefined, error };
}

function endOfFailure({ cause }: ChildWorkflowFailure): EndedChild {
  if (cause instanceof ApplicationFailure) {
    const result: unknown = cause.type === 'TurnFailed' ? cause.details?.[0] : undefined;
    if (isResult(result)) return endOf(result);
    return { status: 'failed', seq: 0, error: { code: cause.type ?? 'UNKNOWN', message: cause.message } };
  }
  if (cause instanceof TerminatedFailure) return { status: 'terminated', seq: 0 };
  if (cause instanceof TimeoutFailure) return { status: 'timed out', seq: 0 };
  const message =
    cause instanceof CancelledFailure ? 'it was cancelled' : (cause?.message ?? 'it has failed');
  return { status: 'interrupted', seq: 0, error: { code: 'CANCELLED', message } };
}

function isResult(value: unknown): value is TurnResult {
  return typeof value === 'object' && value !== null && 'status' in value && 'events' in value;
}
