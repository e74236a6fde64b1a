import { defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { JobName, JobProgressed } from '../src/protocol/job.ts';
import { EXPIRE_JOB, JOB_PROGRESS } from '../src/protocol/names.ts';

/** What is told of jobs that a workflow waits for. */
export interface ToldOfJobs {
  /** @throws ApplicationFailure where it makes no sense. */
  progressed(given: JobProgressed): void;
  /** @throws ApplicationFailure of type `NotPending`, or `AmbiguousJob` */
  check(name: JobName): void;
  /** @throws as {@link check} */
  expireNow(name: JobName): void;
}

/** @param noted carries out what nobody is told the failure of. */
export function handleJobs(jobs: ToldOfJobs, noted: (handle: () => void) => void): void {
  setHandler(defineSignal<[JobProgressed]>(JOB_PROGRESS), (given) => noted(() => jobs.progressed(given)), {
    description: 'how far a job has got: { jobId, progress }',
  });
  setHandler(
    defineUpdate<void, [JobName | undefined]>(EXPIRE_JOB),
    (given) => jobs.expireNow(nameIn(given)),
    {
      validator: (given) => jobs.check(nameIn(given)),
      description:
        'for tests: what becomes of a job when its time is over, now; jobId unless it is the only one',
    },
  );
}

/** What a malformed payload means, as far as it says so. */
function nameIn(given: unknown): JobName {
  if (typeof given !== 'object' || given === null) return {};
  const fields = Object.entries(given).filter(
    ([field, value]) => ['jobId', 'callKey', 'callId'].includes(field) && typeof value === 'string',
  );
  return Object.fromEntries(fields);
}
