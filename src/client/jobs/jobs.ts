import {
  type CancelJob,
  type CompleteJob,
  cancelJob,
  completeJob,
  type FailJob,
  failJob,
  getJob,
  type JOBS,
  type JobAnswer,
  type JobRow,
  type JobSpeaker,
  type ListJobs,
  listJobs,
  type OwnJob,
  type ProgressJob,
  progressJob,
} from '../../contract/jobs.ts';
import { type Call, type MethodsOf, OPERATOR } from '../../contract/operation.ts';
import { callerOf } from '../call.ts';

/** Jobs of long-running calls, whichever way they are reached. */
export class Jobs implements MethodsOf<typeof JOBS> {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /**
   * The oldest first: those that go on, unless told otherwise.
   *
   * @param list.limit at most 1,000; defaults to 100.
   * @param list.after the last job of the page before.
   * @throws InvalidTurn
   */
  async list(list: ListJobs = {}): Promise<JobRow[]> {
    return [...(await this.#call(listJobs, list, OPERATOR)).jobs];
  }

  /**
   * Undefined where there is none, or its call has not begun it yet. A caller with the job's token sees its own id, status, progress and outcome.
   *
   * @throws JobTokenRefused, InvalidJob
   */
  async get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  async get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
  async get(jobId: string, speaker: JobSpeaker = {}): Promise<OwnJob | undefined> {
    return await this.#call(getJob, { jobId }, callerOf(getJob, speaker));
  }

  /**
   * Ends a job with its result. The first outcome counts; later ones are answered with it, as `known`, an equal one as `duplicate`.
   * Works with no worker up, and with Temporal down: the outcome is kept, and told as soon as that can be.
   *
   * @param options.result JSON, up to 10 MiB. Anything but an object counts as `{ result: … }`, as a tool's own.
   * @param options.token `context.job.token`. Without one the caller speaks as an operator.
   * @param options.person who the operator is, for `endedByPerson` of the job: whoever has the store is believed. Of no meaning
   * beside a token. A `GatewayClient` leaves it out: the gateway knows who asks.
   * @throws JobNotFound, JobTokenRefused, InvalidJob
   * @example
   * await client.jobs.complete(jobId, { result: { url: 'https://reports.example.com/7' } });
   */
  async complete(jobId: string, options: CompleteJob): Promise<JobAnswer> {
    return await this.#call(completeJob, { ...options, jobId }, callerOf(completeJob, options));
  }

  /**
   * Ends a job with an error.
   *
   * @param options.error told to the model, at most 2,000 characters.
   * @throws as {@link complete}
   */
  async fail(jobId: string, options: FailJob): Promise<JobAnswer> {
    return await this.#call(failJob, { ...options, jobId }, callerOf(failJob, options));
  }

  /**
   * Tells how far a job has got, or that it goes on. After its end it is `refused`, with the outcome.
   *
   * @param options.value from 0 to 1.
   * @param options.message at most 500 characters.
   * @throws as {@link complete}
   */
  async progress(jobId: string, options: ProgressJob): Promise<JobAnswer> {
    return await this.#call(progressJob, { ...options, jobId }, callerOf(progressJob, options));
  }

  /**
   * Ends a job that nobody wants any more; its tool's `cancel` hook is called by a worker.
   *
   * @param options.reason told to the model and the tool, at most 500 characters.
   * @throws as {@link complete}
   */
  async cancel(jobId: string, options: CancelJob = {}): Promise<JobAnswer> {
    return await this.#call(cancelJob, { ...options, jobId }, callerOf(cancelJob, options));
  }
}
