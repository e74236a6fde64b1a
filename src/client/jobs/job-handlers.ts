import { hasCode } from '../../contract/error.ts';
import type { JobAnswer, JobOperation, JobOutcome, JobRow, JobStatus } from '../../contract/jobs.ts';
import { type Caller, type Handlers, spent } from '../../contract/operation.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { problemOfName } from '../../schema/person-name.ts';
import type { EndJob, EndReceipt } from '../../store/jobs/job-store.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidJob, JobNotFound } from '../client-errors.ts';
import { storeOf } from '../stored-context.ts';
import { claimsOf, storedJobs } from './stored-jobs.ts';
import { tellOfEnd, tellProgress } from './tell-job.ts';

/** Performs what is done to jobs. */
export const jobHandlers: Handlers<JobOperation, ClientContext> = {
  ...storedJobs,
  'jobs.complete': async ({ jobId, result, ...rest }, context, caller) => {
    spent(rest);
    const response = isRecord(result) ? result : { result };
    const ending = { jobId, status: 'completed', outcome: { response, failed: false } } as const;
    return await end(context, 'jobs.complete', caller, ending);
  },
  'jobs.fail': async ({ jobId, error, ...rest }, context, caller) => {
    spent(rest);
    return await end(context, 'jobs.fail', caller, { jobId, status: 'failed', outcome: errorOutcome(error) });
  },
  'jobs.cancel': async ({ jobId, reason, ...rest }, context, caller) => {
    spent(rest);
    const outcome = errorOutcome(reason === undefined ? 'cancelled' : `cancelled: ${reason}`);
    const ending = { jobId, status: 'cancelled', outcome, ...defined({ reason }) } as const;
    return await end(context, 'jobs.cancel', caller, ending);
  },
  'jobs.progress': async (progress, context, caller) => {
    const method = 'jobs.progress';
    const store = storeOf(context, method);
    const { jobId } = progress;
    const claims = await claimsOf(context, store, jobId, caller);
    const { job, tells } = await found(method, jobId, () =>
      store.jobs.progress({ ...progress, ...defined({ claims }) }),
    );
    if (job.status !== 'running') return { ...answerOf(job, 'refused'), reason: howItEnded(job) };
    if (tells) await tellProgress(context, job);
    return answerOf(job, 'updated');
  },
};

async function end(
  context: ClientContext,
  method: string,
  caller: Caller,
  ending: Omit<EndJob, 'by' | 'person' | 'claims'>,
): Promise<JobAnswer> {
  const { jobId } = ending;
  const store = storeOf(context, method);
  const person = caller.by === 'operator' ? caller.person : undefined;
  const problem = person === undefined ? undefined : problemOfName(person);
  if (problem !== undefined) throw new InvalidJob(`${method}: person: ${problem}`);
  const claims = await claimsOf(context, store, jobId, caller);
  const by: Pick<EndJob, 'by' | 'person' | 'claims'> =
    claims === undefined ? { by: 'operator', ...defined({ person }) } : { by: 'callback', claims };
  const ended = await found(method, jobId, () => store.jobs.end({ ...ending, ...by }));
  // Also for late callers: the first one may have died before it.
  await tellOfEnd(context, store, ended.job);
  return endAnswer(ended);
}

function errorOutcome(error: string): JobOutcome {
  return { response: { error }, failed: true };
}

async function found<T>(method: string, jobId: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!hasCode(error, 'HOLDFAST_UNKNOWN_JOB')) throw error;
    throw new JobNotFound(
      `${method}: there is no job ${jobId}, or none any more: jobs.list shows those that go on`,
    );
  }
}

function endAnswer({ first, repeated, job }: EndReceipt): JobAnswer {
  if (first) return answerOf(job, repeated ? 'duplicate' : 'ended');
  return { ...answerOf(job, 'known'), reason: howItEnded(job) };
}

function answerOf({ jobId, callKey, status: job, outcome }: JobRow, status: JobAnswer['status']): JobAnswer {
  return { v: PROTOCOL_VERSION, jobId, callKey, status, job, ...defined({ outcome }) };
}

const ENDS: Readonly<Record<JobStatus, string>> = {
  running: 'goes on',
  completed: 'has completed',
  failed: 'has failed',
  cancelled: 'was cancelled',
  timed_out: 'was out of time',
};

function howItEnded({ status, endedAt }: JobRow): string {
  const when = endedAt === undefined ? '' : ` at ${new Date(endedAt).toISOString()}`;
  return `the job ${ENDS[status]}${when}: this outcome counts`;
}
