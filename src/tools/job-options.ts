import type { JobProgress } from '../protocol/job.ts';
import type { Duration } from '../schema/duration.ts';
import type { Context } from './context.ts';

/** A job as the hooks of its tool see it. */
export interface JobView {
  readonly id: string;
  /** Those that the call ran with, as the tool's own function got them. */
  readonly args: Readonly<Record<string, unknown>>;
  /** What the tool returned first, or the newest update. */
  readonly intermediate?: Readonly<Record<string, unknown>>;
  readonly progress?: JobProgress;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Milliseconds since the epoch: its deadline. */
  readonly until: number;
}

/** Why a job has ended without an outcome of its own. */
export type JobEnding = 'cancelled' | 'timed_out' | 'failed';

/** How the job of a long-running tool is looked after. */
export interface JobOptions {
  /**
   * Asks the service behind the tool how the job stands. What it returns is the outcome, as if the tool had returned it; undefined or
   * null means *not yet*. Throwing counts as a failed look: ten in a row end the job. Polling adds nothing to the history, however long.
   */
  poll?: (job: JobView, toolContext: Context) => unknown;
  /**
   * Time between two polls.
   *
   * @default 30 seconds
   * @format milliseconds, or text like `'5m'`
   */
  pollInterval?: Duration;
  /** Tells the service behind the tool that the outcome is not wanted any more. Called when the job is cancelled, or out of time. */
  cancel?: (job: JobView, toolContext: Context) => unknown;
  /**
   * What the model is told in place of an error where the job is out of time; it may say what is left of it.
   *
   * @default an error that names the time
   */
  onTimeout?: (job: JobView, toolContext: Context) => unknown;
  /**
   * Longest time from the call until the job's outcome.
   *
   * @default 7 days
   * @format milliseconds, or text like `'2 hours'`
   */
  deadline?: Duration;
  /**
   * Longest time until the job's first sign of life: progress, an update, a poll that answers.
   *
   * @default none
   * @format milliseconds, or text like `'10m'`
   */
  startTimeout?: Duration;
  /**
   * Longest time between two signs of life.
   *
   * @default none
   * @format milliseconds, or text like `'10m'`
   */
  silenceTimeout?: Duration;
  /**
   * The turn waits for the outcome even where the tool returns a value; the value is shown to people as the intermediate response.
   * Semantics: `will_continue` of adk-rs.
   *
   * @default false: the model is told the value, and goes on
   */
  pauseOnReturn?: boolean;
  /**
   * The job is the tool's own run: one attempt may take until the deadline, and another worker goes on from the last details of
   * {@link Context.heartbeat}, as `context.job.details`.
   *
   * @default false
   */
  inProcess?: boolean;
}

export const JOB_OPTIONS = [
  'poll',
  'pollInterval',
  'cancel',
  'onTimeout',
  'deadline',
  'startTimeout',
  'silenceTimeout',
  'pauseOnReturn',
  'inProcess',
] satisfies (keyof JobOptions)[];

/** {@link JobOptions} with their defaults; all durations in milliseconds. */
export interface ResolvedJobOptions extends Pick<JobOptions, 'poll' | 'cancel' | 'onTimeout'> {
  readonly pollInterval: number;
  readonly deadline: number;
  readonly startTimeout?: number;
  readonly silenceTimeout?: number;
  readonly pauseOnReturn: boolean;
  readonly inProcess: boolean;
}
