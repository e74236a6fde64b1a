import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { resultProblem, UNUSABLE } from '../src/protocol/activity-results.ts';
import type { Shape } from '../src/protocol/shape.ts';

/**
 * The result of an activity, as far as this workflow would throw at it otherwise, which would hold its task for ever: anybody who may
 * write to Temporal may have answered. What can't be used is a failure of the activity, not to be tried again; callers do with it as
 * they do with any. In the same tick, so that it stands where the result stands in every replay.
 *
 * @throws ActivityFailure
 */
export function usable<Result>(activity: string, shape: Shape, result: Result): Result {
  const problem = resultProblem(`activity ${activity}`, shape, result);
  if (problem === undefined) return result;
  const cause = ApplicationFailure.nonRetryable(problem, UNUSABLE.code);
  const failure = new ActivityFailure(
    problem,
    activity,
    undefined,
    'NON_RETRYABLE_FAILURE',
    undefined,
    cause,
  );
  // They would say where the worker is installed.
  cause.stack = '';
  failure.stack = '';
  throw failure;
}

/** What is wrong with the result of an activity, where that is what has failed. */
export function unusableText(error: unknown): string | undefined {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return undefined;
  return error.cause.type === UNUSABLE.code ? error.cause.message : undefined;
}
