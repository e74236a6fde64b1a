import { ActivityNotFoundError, type Client } from '@temporalio/client';
import type { JobProgressed, JobRow } from '../contract/jobs.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import type { JobEnded } from '../protocol/job.ts';
import { JOB_PROGRESS } from '../protocol/names.ts';

/**
 * Tells the workflow that waits for a job how far the job has got. The signal goes to the newest run of the workflow's id, because a
 * chain of runs is one turn.
 *
 * @throws the error of the connection, or of a workflow that has ended.
 */
export async function signalProgress(
  { workflow }: Pick<Client, 'workflow'>,
  { jobId, progress, address }: Pick<JobRow, 'jobId' | 'progress' | 'address'>,
): Promise<void> {
  if (progress === undefined || address === undefined) return;
  const payload: JobProgressed = { v: PROTOCOL_VERSION, jobId, progress };
  await workflow.getHandle(address.workflowId).signal(JOB_PROGRESS, payload);
}

/**
 * Completes the activity that waits for a job whose outcome is in the store. May be repeated.
 *
 * @returns false where nobody waits: the activity has ended, its run is closed, or it was never begun.
 * @throws ActivityCompletionError, or the error of the connection, where Temporal can't be asked.
 */
export async function completeWait(
  { activity }: Pick<Client, 'activity'>,
  { jobId, address }: Pick<JobRow, 'jobId' | 'address'>,
): Promise<boolean> {
  if (address === undefined) return false;
  const { workflowId, runId, activityId } = address;
  const ended: JobEnded = { v: PROTOCOL_VERSION, ended: jobId };
  try {
    // Without the run id a later run's activity of this id would be completed.
    await activity.complete({ workflowId, runId, activityId }, ended);
    return true;
  } catch (error) {
    if (error instanceof ActivityNotFoundError) return false;
    throw error;
  }
}
