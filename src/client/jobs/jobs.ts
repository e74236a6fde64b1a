import type {
  CancelJob,
  CompleteJob,
  FailJob,
  JobAnswer,
  JobRow,
  JobSpeaker,
  ListJobs,
  OwnJob,
  ProgressJob,
} from '../../contract/jobs.ts';

/** Jobs of long-running calls, whichever way they are reached. */
export interface Jobs {
  /**
   * The oldest first: those that go on, unless told otherwise.
   *
   * @param list.limit at most 1,000; defaults to 100.
   * @param list.after the last job of the page before.
   * @throws InvalidTurn
   */
  list(list?: ListJobs): Promise<JobRow[]>;
  /**
   * Undefined where there is none, or its call has not begun it yet. A caller with the job's token sees its own id, status, progress and outcome.
   *
   * @throws JobTokenRefused, InvalidJob
   */
  get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
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
  complete(jobId: string, options: CompleteJob): Promise<JobAnswer>;
  /**
   * Ends a job with an error.
   *
   * @param options.error told to the model, at most 2,000 characters.
   * @throws as {@link complete}
   */
  fail(jobId: string, options: FailJob): Promise<JobAnswer>;
  /**
   * Tells how far a job has got, or that it goes on. After its end it is `refused`, with the outcome.
   *
   * @param options.value from 0 to 1.
   * @param options.message at most 500 characters.
   * @throws as {@link complete}
   */
  progress(jobId: string, options: ProgressJob): Promise<JobAnswer>;
  /**
   * Ends a job that nobody wants any more; its tool's `cancel` hook is called by a worker.
   *
   * @param options.reason told to the model and the tool, at most 500 characters.
   * @throws as {@link complete}
   */
  cancel(jobId: string, options?: CancelJob): Promise<JobAnswer>;
}
