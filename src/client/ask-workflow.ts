import {
  isGrpcCancelledError,
  isGrpcDeadlineError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, WorkflowNotFoundError } from '@temporalio/common';
import proto from '@temporalio/proto';
import type { ClientContext } from './client-context.ts';
import { InvalidTurn, UnknownCall } from './client-errors.ts';

/** A worker that polls asks the server again at least this often, milliseconds. */
const LONGEST_POLL = 70_000;

/**
 * `silent`: no worker has answered in time. `closed`: no run of this id is open, or it ends, or was cancelled, before it could
 * answer.
 */
export type Answer<T> = { kind: 'answer'; value: T } | { kind: 'silent' } | { kind: 'closed' };

/** A run's refusal of an update. */
export interface Refusal {
  kind: 'refused';
  type: string;
  message: string;
  details: unknown;
}

interface Asked {
  update: string;
  payload: object;
  /** Milliseconds since the epoch. */
  deadline: number;
}

/**
 * Sends an update to a session's run. Its id is random: a server answers a repeated one from a closed run.
 *
 * @throws InvalidTurn, UnknownCall where the run refuses it.
 */
export async function ask<T>(context: ClientContext, workflowId: string, asked: Asked): Promise<Answer<T>> {
  const answer = await askOrRefused<T>(context, workflowId, asked);
  if (answer.kind !== 'refused') return answer;
  if (answer.type === 'UnknownCall') throw new UnknownCall(answer.message);
  throw new InvalidTurn(answer.message);
}

/** As {@link ask}; a refusal is an answer, too. */
export async function askOrRefused<T>(
  { temporal }: ClientContext,
  workflowId: string,
  { update, payload, deadline }: Asked,
): Promise<Answer<T> | Refusal> {
  try {
    const value = await temporal.withDeadline(deadline, () =>
      temporal.workflow.getHandle(workflowId).executeUpdate<T, [object]>(update, { args: [payload] }),
    );
    return { kind: 'answer', value };
  } catch (error) {
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isOutOfTime(error)) {
      return { kind: 'silent' };
    }
    if (error instanceof WorkflowNotFoundError) return { kind: 'closed' };
    const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
    // A run that is cancelled takes its handlers' waits along, and keeps what they were given.
    if (cause instanceof CancelledFailure) return { kind: 'closed' };
    if (cause instanceof ApplicationFailure) {
      const { type, message, details } = cause;
      if (type === 'AcceptedUpdateCompletedWorkflow') return { kind: 'closed' };
      return { kind: 'refused', type: type ?? '', message, details: details?.[0] };
    }
    throw error;
  }
}

/** Whether a deadline has passed: the server may notice it first, and then calls it cancelled. */
export function isOutOfTime(error: unknown): boolean {
  return isGrpcDeadlineError(error) || isGrpcCancelledError(error);
}

/** Says what is known of the workers of a task queue that has not answered. */
export async function aboutWorkers({ temporal }: ClientContext, taskQueue: string): Promise<string> {
  const { pollers } = await temporal.workflowService.describeTaskQueue({
    namespace: temporal.options.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  });
  const seen = pollers.map(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000);
  if (seen.length === 0) return `no worker polls the task queue ${taskQueue}`;
  const ago = Math.max(0, Date.now() - Math.max(...seen));
  const seconds = Math.round(ago / 1_000);
  return ago > LONGEST_POLL
    ? `no worker has polled the task queue ${taskQueue} for ${seconds} s`
    : `a worker has polled the task queue ${taskQueue} ${seconds} s ago, and has not answered yet`;
}
