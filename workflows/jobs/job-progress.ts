import type { JobProgress } from '../../src/contract/jobs.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import type { JobProgressed } from '../../src/protocol/job.ts';
import { JOB_PROGRESS } from '../../src/protocol/names.ts';
import { taken } from '../arguments.ts';

/** @throws ApplicationFailure of type `InvalidProgress` */
export function checkedProgress(given: JobProgressed): Pick<JobProgressed, 'jobId' | 'progress'> {
  return taken(WORKFLOW_CHECKS.jobProgressed, given, { of: JOB_PROGRESS, type: 'InvalidProgress' });
}

/** The newest: signals of one job may overtake each other. */
export function newerOf(known: JobProgress | undefined, told: JobProgress): JobProgress {
  return known !== undefined && known.at > told.at ? known : told;
}
