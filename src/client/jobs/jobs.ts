import type { JobReceipt } from '../../protocol/job.ts';
import type { JobRow, ListJobs } from '../../store/jobs/job-store.ts';

/** Who speaks for a job: an operator, or the service that does it, by the job's own token. */
export interface JobSpeaker {
  /** `context.job.token`. Without one the caller speaks as an operator. */
  token?: string;
}

/** Who ends a job. */
export interface JobOperator {
  /**
   * Who the operator is, for `endedByPerson` of the job: whoever has the store is believed. Of no meaning beside a token. A
   * `GatewayClient` leaves it out: the gateway knows who asks.
   */
  person?: string;
}

export interface CompleteJob extends JobSpeaker, JobOperator {
  /** JSON, up to 10 MiB. Anything but an object counts as `{ result: … }`, as a tool's own. */
  result: unknown;
}

export interface FailJob extends JobSpeaker, JobOperator {
  /** Told to the model, at most 2,000 characters. */
  error: string;
}

export interface CancelJob extends JobOperator {
  /** Told to the model and the tool, at most 500 characters. */
  reason?: string;
}

export interface ProgressJob extends JobSpeaker {
  /** From 0 to 1. */
  value?: number;
  /** At most 500 characters. */
  message?: string;
}

/** What became of an order about a job, and the job by now: whoever comes late learns the outcome that counts. */
export interface JobAnswer extends JobReceipt {
  outcome?: { response: Record<string, unknown>; failed: boolean };
}

/** A job as the service sees that does it. */
export type OwnJob = Pick<JobRow, 'jobId' | 'status' | 'progress' | 'outcome'>;

/** Jobs of long-running calls, whichever way they are reached. */
export interface Jobs {
  /**
   * The oldest first: those that go on, unless told otherwise.
   *
   * @throws InvalidTurn
   */
  list(list?: ListJobs): Promise<JobRow[]>;
  /**
   * Undefined where there is none, or its call has not begun it yet. Who speaks by its token sees of it what is the job's own.
   *
   * @throws JobTokenRefused, InvalidJob
   */
  get(jobId: string, speaker?: { token?: undefined }): Promise<JobRow | undefined>;
  get(jobId: string, speaker: JobSpeaker): Promise<OwnJob | undefined>;
  /**
   * Ends a job with its result. The first outcome counts; later ones are answered with it, as `known`, an equal one as `duplicate`.
   * Works with no worker up, and with Temporal down: the outcome is kept, and told as soon as that can be.
   *
   * @throws JobNotFound, JobTokenRefused, InvalidJob
   * @example
   * await client.jobs.complete(jobId, { result: { url: 'https://reports.example.com/7' } });
   */
  complete(jobId: string, options: CompleteJob): Promise<JobAnswer>;
  /**
   * Ends a job with an error.
   *
   * @throws as {@link complete}
   */
  fail(jobId: string, options: FailJob): Promise<JobAnswer>;
  /**
   * Tells how far a job has got, or that it goes on. After its end it is `refused`, with the outcome.
   *
   * @throws as {@link complete}
   */
  progress(jobId: string, options: ProgressJob): Promise<JobAnswer>;
  /**
   * Ends a job that nobody wants any more; its tool's `cancel` hook is called by a worker.
   *
   * @throws as {@link complete}
   */
  cancel(jobId: string, options?: CancelJob): Promise<JobAnswer>;
}
