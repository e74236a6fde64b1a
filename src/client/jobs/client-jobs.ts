import { verifyJobToken } from '../../jobs/job-token.ts';
import type { JobStatus } from '../../protocol/job.ts';
import { PROTOCOL_VERSION } from '../../protocol/version.ts';
import type {
  EndedJob,
  EndJob,
  JobClaims,
  JobOutcome,
  JobRow,
  ListJobs,
} from '../../store/jobs/job-store.ts';
import type { Store } from '../../store/store.ts';
import { UnknownJob } from '../../store/store-errors.ts';
import { type ClientContext, storeOf } from '../client-context.ts';
import { InvalidJob, JobNotFound } from '../client-errors.ts';
import {
  checkedError,
  checkedPerson,
  checkedProgress,
  checkedReason,
  checkedResult,
  checkJobId,
  checkJobList,
  fieldsOf,
} from './check-job.ts';
import type {
  CancelJob,
  CompleteJob,
  FailJob,
  JobAnswer,
  JobOperator,
  JobSpeaker,
  Jobs,
  OwnJob,
  ProgressJob,
} from './jobs.ts';
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
    const store = storeOf(this.#context, 'jobs.list');
    checkJobList(list);
    return await store.jobs.list(list);
  }

  async get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  async get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
  /** @throws StoreNeeded, JobTokenRefused, InvalidJob */
  async get(jobId: string, speaker: JobSpeaker = {}): Promise<OwnJob | undefined> {
    const method = 'jobs.get';
    const store = storeOf(this.#context, method);
    const claims = await this.#claimsOf(jobId, speaker, method);
    const job = await store.jobs.find(jobId);
    return job === undefined || claims === undefined ? job : ownJob(job);
  }

  /** @throws StoreNeeded, JobNotFound, JobTokenRefused, InvalidJob */
  async complete(jobId: string, options: CompleteJob): Promise<JobAnswer> {
    const method = 'jobs.complete';
    const { result } = fieldsOf(options, method);
    const response = checkedResult(result, method);
    return await this.#end(jobId, options, method, {
      status: 'completed',
      outcome: { response, failed: false },
    });
  }

  /** @throws as {@link complete} */
  async fail(jobId: string, options: FailJob): Promise<JobAnswer> {
    const method = 'jobs.fail';
    const error = checkedError(fieldsOf(options, method).error, method);
    return await this.#end(jobId, options, method, { status: 'failed', outcome: errorOutcome(error) });
  }

  /** @throws as {@link complete} */
  async progress(jobId: string, options: ProgressJob): Promise<JobAnswer> {
    const method = 'jobs.progress';
    const store = storeOf(this.#context, method);
    const progress = checkedProgress(options, method);
    const claims = await this.#claimsOf(jobId, options, method);
    const told = await found(method, jobId, () =>
      store.jobs.progress({ jobId, ...progress, ...(claims === undefined ? {} : { claims }) }),
    );
    const { job, tells } = told;
    if (job.status !== 'running') return { ...answerOf(job, 'refused'), reason: howItEnded(job) };
    if (tells) await tellProgress(this.#context, job);
    return answerOf(job, 'updated');
  }

  /** @throws as {@link complete} */
  async cancel(jobId: string, options: CancelJob = {}): Promise<JobAnswer> {
    const method = 'jobs.cancel';
    const reason = checkedReason(fieldsOf(options, method).reason, method);
    return await this.#end(jobId, operatorOf(options), method, {
      status: 'cancelled',
      outcome: errorOutcome(reason === undefined ? 'cancelled' : `cancelled: ${reason}`),
      ...(reason === undefined ? {} : { reason }),
    });
  }

  async #end(
    jobId: string,
    speaker: JobSpeaker & JobOperator,
    method: string,
    ending: Ending,
  ): Promise<JobAnswer> {
    const store: Store = storeOf(this.#context, method);
    const person = checkedPerson(speaker.person, method);
    const claims = await this.#claimsOf(jobId, speaker, method);
    const by: Pick<EndJob, 'by' | 'person' | 'claims'> =
      claims === undefined ? { by: 'operator', ...person } : { by: 'callback', claims };
    const ended = await found(method, jobId, () => store.jobs.end({ jobId, ...ending, ...by }));
    // Also for those who come late: whoever was first may not have come to it.
    await tellOfEnd(this.#context, store, ended.job);
    return endAnswer(ended);
  }

  /** What the token proves; undefined where an operator speaks. */
  async #claimsOf(jobId: string, { token }: JobSpeaker, method: string): Promise<JobClaims | undefined> {
    if (token === undefined) {
      checkJobId(jobId, method);
      return undefined;
    }
    if (typeof token !== 'string')
      throw new InvalidJob(`${method}: token: expected context.job.token, or nothing`);
    const now = await storeOf(this.#context, method).now();
    return await verifyJobToken(this.#context.credentialKeys, token, jobId, now);
  }
}

function operatorOf({ person }: JobOperator): JobOperator {
  return person === undefined ? {} : { person };
}

/** What the service that does a job may know of it. */
function ownJob({ jobId, status, progress, outcome }: OwnJob): OwnJob {
  return {
    jobId,
    status,
    ...(progress === undefined ? {} : { progress }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

function errorOutcome(error: string): JobOutcome {
  return { response: { error }, failed: true };
}

async function found<T>(method: string, jobId: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof UnknownJob)) throw error;
    throw new JobNotFound(
      `${method}: there is no job ${jobId}, or none any more: jobs.list shows those that go on`,
    );
  }
}

function endAnswer({ first, repeated, job }: EndedJob): JobAnswer {
  if (first) return answerOf(job, repeated ? 'duplicate' : 'ended');
  return { ...answerOf(job, 'known'), reason: howItEnded(job) };
}

function answerOf({ jobId, callKey, status: job, outcome }: JobRow, status: JobAnswer['status']): JobAnswer {
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
