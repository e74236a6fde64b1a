import { hasCode } from '../../contract/error.ts';
import {
  type CancelJob,
  type CompleteJob,
  cancelJob,
  completeJob,
  type FailJob,
  failJob,
  getJob,
  type JobAnswer,
  type JobOperator,
  type JobOutcome,
  type JobRow,
  type JobSpeaker,
  type JobStatus,
  type ListJobs,
  listJobs,
  type OwnJob,
  type ProgressJob,
  progressJob,
} from '../../contract/jobs.ts';
import { PROTOCOL_VERSION } from '../../contract/version.ts';
import { isRecord } from '../../protocol/json.ts';
import type { EndJob, EndReceipt } from '../../store/jobs/job-store.ts';
import type { Store } from '../../store/store.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import { JobNotFound } from '../client-errors.ts';
import { StoredJobs } from '../stored-api.ts';
import { checkedJob, checkedPerson } from './checked-job.ts';
import type { Jobs } from './jobs.ts';
import { tellOfEnd, tellProgress } from './tell-job.ts';

/** How somebody wants a job to end. */
type Ending = Pick<EndJob, 'status' | 'outcome' | 'reason'>;

/** `jobs` of a `HoldfastClient`. */
export class ClientJobs implements Jobs {
  readonly #context: ClientContext;

  constructor(context: ClientContext) {
    this.#context = context;
  }

  /** @throws StoreNeeded, InvalidTurn */
  async list(list: ListJobs = {}): Promise<JobRow[]> {
    return await this.#stored(listJobs.name).list(list);
  }

  async get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  async get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
  /** @throws StoreNeeded, JobTokenRefused, InvalidJob */
  async get(jobId: string, speaker: JobSpeaker = {}): Promise<OwnJob | undefined> {
    return await this.#stored(getJob.name).get(jobId, speaker);
  }

  /** @throws StoreNeeded, JobNotFound, JobTokenRefused, InvalidJob */
  async complete(jobId: string, options: CompleteJob): Promise<JobAnswer> {
    const { input, caller } = checkedJob(completeJob, jobId, options);
    const response = isRecord(input.result) ? input.result : { result: input.result };
    return await this.#end(completeJob.name, jobId, caller, {
      status: 'completed',
      outcome: { response, failed: false },
    });
  }

  /** @throws as {@link complete} */
  async fail(jobId: string, options: FailJob): Promise<JobAnswer> {
    const { input, caller } = checkedJob(failJob, jobId, options);
    return await this.#end(failJob.name, jobId, caller, {
      status: 'failed',
      outcome: errorOutcome(input.error),
    });
  }

  /** @throws as {@link complete} */
  async progress(jobId: string, options: ProgressJob): Promise<JobAnswer> {
    const store = storeOf(this.#context, progressJob.name);
    const { input, caller } = checkedJob(progressJob, jobId, options);
    const claims = await this.#stored(progressJob.name).claimsOf(jobId, caller);
    const { job, tells } = await found(progressJob.name, jobId, () =>
      store.jobs.progress({ ...input, ...(claims === undefined ? {} : { claims }) }),
    );
    if (job.status !== 'running') return { ...jobAnswerOf(job, 'refused'), reason: howItEnded(job) };
    if (tells) await tellProgress(this.#context, job);
    return jobAnswerOf(job, 'updated');
  }

  /** @throws as {@link complete} */
  async cancel(jobId: string, options: CancelJob = {}): Promise<JobAnswer> {
    const { input, caller } = checkedJob(cancelJob, jobId, options);
    const { reason } = input;
    return await this.#end(cancelJob.name, jobId, caller, {
      status: 'cancelled',
      outcome: errorOutcome(reason === undefined ? 'cancelled' : `cancelled: ${reason}`),
      ...(reason === undefined ? {} : { reason }),
    });
  }

  async #end(
    method: string,
    jobId: string,
    speaker: JobSpeaker & JobOperator,
    ending: Ending,
  ): Promise<JobAnswer> {
    const store: Store = storeOf(this.#context, method);
    const person = checkedPerson(speaker, method);
    const claims = await this.#stored(method).claimsOf(jobId, speaker);
    const by: Pick<EndJob, 'by' | 'person' | 'claims'> =
      claims === undefined ? { by: 'operator', ...person } : { by: 'callback', claims };
    const ended = await found(method, jobId, () => store.jobs.end({ jobId, ...ending, ...by }));
    // Also for late callers: the first one may have died before it.
    await tellOfEnd(this.#context, store, ended.job);
    return endAnswer(ended);
  }

  #stored(what: string): StoredJobs {
    return new StoredJobs(storeOf(this.#context, what), this.#context.credentialKeys);
  }
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
  if (first) return jobAnswerOf(job, repeated ? 'duplicate' : 'ended');
  return { ...jobAnswerOf(job, 'known'), reason: howItEnded(job) };
}

function jobAnswerOf(
  { jobId, callKey, status: job, outcome }: JobRow,
  status: JobAnswer['status'],
): JobAnswer {
  return {
    v: PROTOCOL_VERSION,
    jobId,
    callKey,
    status,
    job,
    ...(outcome === undefined ? {} : { outcome }),
  };
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
