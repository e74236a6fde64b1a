import type { JobRow, ListJobs } from '../../store/jobs/job-store.ts';
import { InvalidJob, JobHasEnded, JobNotFound } from '../client-errors.ts';
import type { GatewayConnection } from '../gateway-connection.ts';
import { jobPath, withQuery } from '../gateway-paths.ts';
import {
  checkedError,
  checkedProgress,
  checkedReason,
  checkedResult,
  checkJobList,
  fieldsOf,
} from './check-job.ts';
import type {
  CancelJob,
  CompleteJob,
  FailJob,
  JobAnswer,
  JobSpeaker,
  Jobs,
  OwnJob,
  ProgressJob,
} from './jobs.ts';

/** What a header can hold. */
const SENDABLE = /^[\x21-\x7e]+$/;

/** `jobs` of a `GatewayClient`: as those of `HoldfastClient`. */
export class GatewayJobs implements Jobs {
  readonly #connection: GatewayConnection;

  constructor(connection: GatewayConnection) {
    this.#connection = connection;
  }

  /** @throws InvalidTurn */
  async list(list: ListJobs = {}): Promise<JobRow[]> {
    checkJobList(list);
    const { app, userId, sessionId, status, limit, order, after } = list;
    const query = {
      ...{ app, user: userId, session: sessionId, limit, order },
      status: status?.join(','),
      afterTime: after?.since,
      afterJob: after?.jobId,
    };
    return (await this.#connection.ask<{ jobs: JobRow[] }>(withQuery('/v1/jobs', query))).jobs;
  }

  async get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  async get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
  /** @throws JobTokenRefused, InvalidJob */
  async get(jobId: string, speaker: JobSpeaker = {}): Promise<OwnJob | undefined> {
    const method = 'jobs.get';
    try {
      return await this.#connection.ask<OwnJob>(jobPath(jobId, method), {
        headers: headersOf(speaker, method),
      });
    } catch (error) {
      if (error instanceof JobNotFound) return undefined;
      throw error;
    }
  }

  /** @throws JobNotFound, JobTokenRefused, InvalidJob */
  async complete(jobId: string, options: CompleteJob): Promise<JobAnswer> {
    const method = 'jobs.complete';
    const { result } = fieldsOf(options, method);
    checkedResult(result, method);
    return await this.#say(`${jobPath(jobId, method)}/complete`, { result }, headersOf(options, method));
  }

  /** @throws as {@link complete} */
  async fail(jobId: string, options: FailJob): Promise<JobAnswer> {
    const method = 'jobs.fail';
    const error = checkedError(fieldsOf(options, method).error, method);
    return await this.#say(`${jobPath(jobId, method)}/fail`, { error }, headersOf(options, method));
  }

  /** @throws as {@link complete} */
  async progress(jobId: string, options: ProgressJob): Promise<JobAnswer> {
    const method = 'jobs.progress';
    const progress = checkedProgress(options, method);
    try {
      return await this.#say(`${jobPath(jobId, method)}/progress`, progress, headersOf(options, method));
    } catch (error) {
      if (error instanceof JobHasEnded && error.answer !== undefined) return error.answer;
      throw error;
    }
  }

  /** @throws as {@link complete} */
  async cancel(jobId: string, options: CancelJob = {}): Promise<JobAnswer> {
    const method = 'jobs.cancel';
    const reason = checkedReason(fieldsOf(options, method).reason, method);
    return await this.#say(`${jobPath(jobId, method)}/cancel`, { reason }, {});
  }

  /** Said again while the gateway can't be reached: the first outcome counts. */
  async #say(path: string, body: object, headers: Record<string, string>): Promise<JobAnswer> {
    return await this.#connection.askAgain<JobAnswer>(path, { method: 'POST', body, headers });
  }
}

/** A job's token goes in the place of the gateway's. */
function headersOf({ token }: JobSpeaker, method: string): Record<string, string> {
  if (token === undefined) return {};
  if (typeof token === 'string' && SENDABLE.test(token)) return { authorization: `Bearer ${token}` };
  throw new InvalidJob(`${method}: token: expected context.job.token, or nothing`);
}
