import type { getJob, listJobs, OwnJob } from '../../contract/jobs.ts';
import type { Caller, Handlers } from '../../contract/operation.ts';
import { verifyJobToken } from '../../jobs/job-token.ts';
import { defined } from '../../protocol/json.ts';
import type { JobClaims } from '../../store/jobs/job-store.ts';
import type { Store } from '../../store/store.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';

/** Performs what reads jobs; loads nothing of Temporal. */
export const storedJobs: Handlers<typeof listJobs | typeof getJob, StoredContext> = {
  'jobs.list': async (list, context) => ({ jobs: await storeOf(context, 'jobs.list').jobs.list(list) }),
  'jobs.get': async ({ jobId }, context, caller) => {
    const store = storeOf(context, 'jobs.get');
    const claims = await claimsOf(context, store, jobId, caller);
    const job = await store.jobs.find(jobId);
    return job === undefined || claims === undefined ? job : ownJob(job);
  },
};

/** The job that the caller's token proves; undefined for an operator. @throws JobTokenRefused */
export async function claimsOf(
  { credentialKeys }: StoredContext,
  store: Store,
  jobId: string,
  caller: Caller,
): Promise<JobClaims | undefined> {
  if (caller.by === 'operator') return undefined;
  return await verifyJobToken(credentialKeys, caller.token, jobId, await store.now());
}

/** The view of a job for the service that does it. */
function ownJob({ jobId, status, progress, outcome }: OwnJob): OwnJob {
  return { jobId, status, ...defined({ progress, outcome }) };
}
