import { ApplicationFailure } from '@temporalio/common';
import { resultProblem, UNUSABLE } from '../protocol/activity-results.ts';
import type { Shape } from '../protocol/shape.ts';

/**
 * What an activity or a turn has given, as far as a workflow would throw at it otherwise, which would hold its task for ever: anybody
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
