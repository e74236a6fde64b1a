import { defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { JobName, JobProgressed } from '../../src/contract/jobs.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import { EXPIRE_JOB, JOB_PROGRESS } from '../../src/protocol/names.ts';
import { taken } from '../arguments.ts';
import { isTestEnvironment } from '../test-environment.ts';

/** The progress of a job. */
type Progress = Pick<JobProgressed, 'jobId' | 'progress'>;

/** Takes signals and updates about jobs that a workflow waits for. */
export interface JobListener {
  progressed(given: Progress): void;
  /** @throws ApplicationFailure of type `NotPending`, or `AmbiguousJob` */
  check(name: JobName): void;
  /** @throws as {@link check} */
  expireNow(name: JobName): void;
}

/** @param noted runs the handler of a signal and keeps its failure as a note: a signal has no answer. */
export function handleJobs(jobs: JobListener, noted: (handle: () => void) => void): void {
  setHandler(
    defineSignal<[JobProgressed]>(JOB_PROGRESS),
    (given) => noted(() => jobs.progressed(checkedProgress(given))),
    {
      description: 'how far a job has got: { jobId, progress }',
    },
  );
  if (isTestEnvironment()) {
    setHandler(
      defineUpdate<void, [JobName | undefined]>(EXPIRE_JOB),
      (given) => jobs.expireNow(checkedName(given)),
      {
        validator: (given) => jobs.check(checkedName(given)),
        description: 'for tests: ends a job now as if its time were over; jobId unless it is the only one',
      },
    );
  }
}

/** Without a name the only job is meant. A malformed name means none. */
function checkedName(given: JobName | undefined): JobName {
  return taken(WORKFLOW_CHECKS.jobName, given ?? {}, { of: EXPIRE_JOB, type: 'InvalidJob' });
}

/** @throws ApplicationFailure of type `InvalidProgress` */
function checkedProgress(given: JobProgressed): Progress {
  return taken(WORKFLOW_CHECKS.jobProgressed, given, { of: JOB_PROGRESS, type: 'InvalidProgress' });
}
