import {
  type CancelJob,
  type CompleteJob,
  cancelJob,
  completeJob,
  type FailJob,
  failJob,
  getJob,
  type JobAnswer,
  type JobRow,
  type JobSpeaker,
  type ListJobs,
  listJobs,
  type OwnJob,
  type ProgressJob,
  progressJob,
} from '../../contract/jobs.ts';
import type { Operation } from '../../contract/operation.ts';
import { checkedInput } from '../checked-input.ts';
import { InvalidJob, JobHasEnded, JobNotFound } from '../client-errors.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import { checkedJob } from './checked-job.ts';
import type { Jobs } from './jobs.ts';

/** Characters that a header may have. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** `jobs` of a `GatewayClient`: as those of `HoldfastClient`. */
export class GatewayJobs implements Jobs {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws InvalidTurn */
  async list(list: ListJobs = {}): Promise<JobRow[]> {
    const { input } = checkedInput(listJobs, list);
    return (await this.#connection.call<{ jobs: JobRow[] }>(listJobs, input)).jobs;
  }

  async get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  async get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
  /** @throws JobTokenRefused, InvalidJob */
  async get(jobId: string, speaker: JobSpeaker = {}): Promise<OwnJob | undefined> {
    const { input, caller } = checkedJob(getJob, jobId, speaker);
    try {
      return await this.#connection.call<OwnJob>(getJob, input, { headers: headersOf(getJob, caller) });
    } catch (error) {
      if (error instanceof JobNotFound) return undefined;
      throw error;
    }
  }

  /** @throws JobNotFound, JobTokenRefused, InvalidJob */
  async complete(jobId: string, options: CompleteJob): Promise<JobAnswer> {
    return await this.#say(completeJob, jobId, options);
  }

  /** @throws as {@link complete} */
  async fail(jobId: string, options: FailJob): Promise<JobAnswer> {
    return await this.#say(failJob, jobId, options);
  }

  /** @throws as {@link complete} */
  async progress(jobId: string, options: ProgressJob): Promise<JobAnswer> {
    try {
      return await this.#say(progressJob, jobId, options);
    } catch (error) {
      if (error instanceof JobHasEnded && error.answer !== undefined) return error.answer;
      throw error;
    }
  }

  /** @throws as {@link complete} */
  async cancel(jobId: string, options: CancelJob = {}): Promise<JobAnswer> {
    return await this.#say(cancelJob, jobId, options);
  }

  /** Said again while the gateway can't be reached: the first outcome counts. */
  async #say(operation: Operation, jobId: string, options: object): Promise<JobAnswer> {
    const { input, caller } = checkedJob(operation, jobId, options);
    const headers = headersOf(operation, caller);
    return await this.#connection.callWithRetry<JobAnswer>(operation, input, { headers });
  }
}

/** A job's token goes in the place of the gateway's. */
function headersOf({ name }: Operation, { token }: JobSpeaker): Record<string, string> {
  if (token === undefined) return {};
  if (SENDABLE.test(token)) return { authorization: `Bearer ${token}` };
  throw new InvalidJob(`${name}: token: expected context.job.token, or nothing`);
}
