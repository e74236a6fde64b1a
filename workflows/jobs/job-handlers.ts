import { defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import type { JobName, JobProgressed } from '../../src/protocol/job.ts';
import { EXPIRE_JOB, JOB_PROGRESS } from '../../src/protocol/names.ts';
import { taken } from '../arguments.ts';
import { isTestEnvironment } from '../test-environment.ts';

/** How far a job has got. */
type Progress = Pick<JobProgressed, 'jobId' | 'progress'>;

/** What is told of jobs that a workflow waits for. */
export interface JobListener {
  progressed(given: Progress): void;
  /** @throws ApplicationFailure of type `NotPending`, or `AmbiguousJob` */
  check(name: JobName): void;
  /** @throws as {@link check} */
  expireNow(name: JobName): void;
}

/** @param noted carries out what nobody is told the failure of. */
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
        description:
          'for tests: what becomes of a job when its time is over, now; jobId unless it is the only one',
      },
    );
  }
}

/** Nothing means the only job, and what is malformed means none. */
function checkedName(given: JobName | undefined): JobName {
  return taken(WORKFLOW_CHECKS.jobName, given ?? {}, { of: EXPIRE_JOB, type: 'InvalidJob' });
}

/** @throws ApplicationFailure of type `InvalidProgress` */
function checkedProgress(given: JobProgressed): Progress {
  return taken(WORKFLOW_CHECKS.jobProgressed, given, { of: JOB_PROGRESS, type: 'InvalidProgress' });
}
