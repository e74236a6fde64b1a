import { tellWaiting } from '../../src/jobs/tell-waiting.ts';
import type { JobReceipt, RecordJobInput } from '../../src/protocol/job.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { reportUnexpected } from '../logging.ts';
import { tellProgress } from './job-init.ts';

/**
 * `holdfast.recordJob`: what a message to a turn that waits says of a job.
 *
 * @throws UnknownJob where its call has none so far, or its session was deleted.
 */
export function recordJob(
  dependencies: ActivityDependencies,
): (input: RecordJobInput) => Promise<JobReceipt> {
  return (input) =>
    attempt(() => recorded(dependencies, input), reportUnexpected(dependencies, { callKey: input.callKey }));
}

async function recorded(dependencies: ActivityDependencies, input: RecordJobInput): Promise<JobReceipt> {
  const { jobId, callKey, message } = input;
  // Before the job ends, and with it perhaps the turn.
  if (message !== undefined) await dependencies.store.keepJobAnswer({ jobId }, message);
  const receipt = { v: PROTOCOL_VERSION, jobId, callKey };
  return { ...receipt, ...(await (input.willContinue ? updated : ended)(dependencies, input)) };
}

type Recorded = Pick<JobReceipt, 'status' | 'job' | 'reason'>;

async function updated(
  dependencies: ActivityDependencies,
  { jobId, response }: RecordJobInput,
): Promise<Recorded> {
  const { job, tells } = await dependencies.store.progressJob({ jobId, intermediate: response });
  if (tells) await tellProgress(dependencies, job);
  if (job.status === 'running') return { status: 'updated', job: job.status };
  return { status: 'refused', job: job.status, reason: 'the job has ended: an update says nothing any more' };
}

async function ended(
  { store, temporal }: ActivityDependencies,
  { jobId, response }: RecordJobInput,
): Promise<Recorded> {
  const failed = Object.hasOwn(response, 'error');
  const { first, repeated, job } = await store.endJob({
    jobId,
    status: failed ? 'failed' : 'completed',
    outcome: { response, failed },
    by: 'message',
  });
  // Whoever has ended it before may not have come to tell.
  await tellWaiting(temporal(), job);
  return { status: repeated ? 'duplicate' : first ? 'ended' : 'known', job: job.status };
}
