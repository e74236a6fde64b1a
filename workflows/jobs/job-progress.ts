import type { JobProgress, JobProgressed } from '../../src/protocol/job.ts';
import { JOB_PROGRESS } from '../../src/protocol/names.ts';
import { isObject, type Refuse, refusal, shapeOf } from '../messages/message-arguments.ts';

const LONGEST_MESSAGE = 500;

/** @throws ApplicationFailure of type `InvalidProgress` */
export function checkedProgress(given: JobProgressed): Pick<JobProgressed, 'jobId' | 'progress'> {
  const refuse: Refuse = (field, problem) => refusal(JOB_PROGRESS, 'InvalidProgress', field, problem);
  if (!isObject(given)) throw refuse('arguments', `expected one object, got ${shapeOf(given)}`);
  const { jobId, progress } = given;
  if (typeof jobId !== 'string' || jobId === '') {
    throw refuse('jobId', `expected a non-empty string, got ${shapeOf(jobId)}`);
  }
  if (!isObject(progress)) throw refuse('progress', `expected an object, got ${shapeOf(progress)}`);
  const { value, message, at } = progress;
  if (!Number.isFinite(at)) throw refuse('progress.at', `expected a time, got ${shapeOf(at)}`);
  const isShare = typeof value === 'number' && value >= 0 && value <= 1;
  if (isGiven(value) && !isShare) throw refuse('progress.value', 'expected a number from 0 to 1, or nothing');
  if (isGiven(message) && typeof message !== 'string') {
    throw refuse('progress.message', `expected text or nothing, got ${shapeOf(message)}`);
  }
  return {
    jobId,
    progress: {
      ...(isGiven(value) ? { value } : {}),
      ...(isGiven(message) ? { message: message.slice(0, LONGEST_MESSAGE).toWellFormed() } : {}),
      at,
    },
  };
}

/** The newest: signals of one job may overtake each other. */
export function newerOf(known: JobProgress | undefined, told: JobProgress): JobProgress {
  return known !== undefined && known.at > told.at ? known : told;
}

/** Null counts as absent, as other languages' serialisers write it. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
