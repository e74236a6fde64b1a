import { ApplicationFailure } from '@temporalio/common';
import type { ActivityOptions } from '@temporalio/workflow';
import { resultProblem, UNUSABLE } from '../protocol/activity-results.ts';
import { fairnessKeyOf } from '../protocol/identity.ts';
import type { Shape } from '../protocol/shape.ts';

/** Names of the turn, and the task queue of Holdfast's workers. */
export interface PlaceOfTurn {
  app: string;
  userId: string;
  taskQueue: string;
}

/** As those of a turn's own activities: nothing but their workflow ends them. */
export function turnActivityOptions(
  { app, userId, taskQueue }: PlaceOfTurn,
  summary: string,
): ActivityOptions {
  return {
    taskQueue,
    summary: summary.slice(0, 60).toWellFormed(),
    priority: { fairnessKey: fairnessKeyOf(app, userId) },
    startToCloseTimeout: 60_000,
    heartbeatTimeout: 10_000,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { initialInterval: 1_000, maximumInterval: 30_000, backoffCoefficient: 2 },
  };
}

/**
 * The result of an activity or a turn, checked where a workflow would throw at it otherwise, which would hold its task for ever: anybody
 * who may write to Temporal may have answered.
 *
 * @param from whose result it is: for people.
 * @throws ApplicationFailure of type `HOLDFAST_UNUSABLE_RESULT`, not to be retried.
 */
export function usable<Result>(from: string, shape: Shape, result: Result): Result {
  const problem = resultProblem(from, shape, result);
  if (problem === undefined) return result;
  throw ApplicationFailure.nonRetryable(problem, UNUSABLE.code);
}
