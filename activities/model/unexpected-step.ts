import { activityInfo } from '@temporalio/activity';
import { type AskedStep, draftFromError, recordOf, type StepResponse } from '../../src/flows/step-draft.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import { isLastRefusal } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import type { OpenStep } from './step-parts.ts';

/**
 * What a step comes to, an error that only a mistake of ours explains included: on the last attempt of about a minute, as for an
 * agent that no worker has, that ends the turn. Until then a worker of another version may get further; after it the session would
 * be kept busy for nothing.
 *
 * @throws what has the step tried again.
 */
export async function boundedly(
  { store, conceal }: ActivityDependencies,
  { runKey, step }: CallModelInput,
  { asked, opened }: { asked: AskedStep; opened: OpenStep },
  work: () => Promise<StepResponse>,
): Promise<StepResponse> {
  try {
    return await work();
  } catch (error) {
    if (!isMistake(error)) throw error;
    const attempts = Math.min(activityInfo().attempt, opened.attempt);
    const text = conceal ? `${error.name}; the log has its text` : `${error.name}: ${error.message}`;
    if (!isLastRefusal(attempts)) {
      // No model's failure: it counts for nothing.
      const { session, attempt } = opened;
      await store.recordStepFailure({ session, runKey, step, error: text, counts: false, attempt });
      throw error;
    }
    const message = `the step has failed ${attempts} times, by an error that nobody expects: ${text}`;
    return recordOf(draftFromError(asked, { code: 'HOLDFAST_UNEXPECTED', message }));
  }
}

/** Thrown by the language; those of a connection, which comes back, have a cause. */
function isMistake(error: unknown): error is Error {
  return (error instanceof TypeError || error instanceof RangeError) && error.cause === undefined;
}
