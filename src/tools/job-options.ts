import type { JobProgress } from '../contract/jobs.ts';
import { type Duration, formatDuration } from '../schema/duration.ts';
import * as option from '../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, type Resolved, readFrom } from '../schema/options.ts';
import type { Context } from './context.ts';

/** A job as the hooks of its tool see it. */
export interface JobView {
  readonly id: string;
  /** Those that the call ran with, as the tool's own function got them. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The first result of the tool, or the newest update. */
  readonly intermediate?: Readonly<Record<string, unknown>>;
  readonly progress?: JobProgress;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** Milliseconds since the epoch: its deadline. */
  readonly until: number;
}

/** Answer of a poll after which the tool runs again, to ask a person. Its turn waits for the job. */
export const RUN_AGAIN = Symbol.for('holdfast.runAgain');

/** How the job of a long-running tool is looked after. */
export interface JobOptions<Cancel = (job: JobView, toolContext: Context) => unknown> {
  /**
   * Asks the tool's service about the job. The returned value is the outcome, as if the tool had returned it; undefined or
   * null means *not yet*. Throwing counts as a failed look: ten in a row end the job, and one that says `retryable: false` ends it at once.
   * Polling adds nothing to the history, however long.
   */
  poll?: (job: JobView, toolContext: Context) => unknown;
  /**
   * Time between two polls, 1 second or longer.
   *
   * @default 30 seconds; not more than `deadline`
   * @format milliseconds, or text like `'5m'`
   */
  pollInterval?: Duration;
  /** Tells the tool's service that the outcome is not wanted any more. Called when the job is cancelled, or out of time. */
  cancel?: Cancel;
  /**
   * Gives the model's answer in place of an error when the job is out of time, for example a partial result.
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
   * `context.heartbeat`, as `context.job.details`.
   *
   * @default false
   */
  inProcess?: boolean;
}

/** Milliseconds: 7 days. */
export const DEFAULT_JOB_DEADLINE = 7 * 86_400_000;

const hook = option.callback<(job: JobView, toolContext: Context) => unknown>(
  'a function of the job and its context',
);

export const JOB = {
  poll: hook,
  pollInterval: option.duration(30_000),
  cancel: hook,
  onTimeout: hook,
  deadline: option.duration(DEFAULT_JOB_DEADLINE),
  startTimeout: option.duration(),
  silenceTimeout: option.duration(),
  pauseOnReturn: option.flag(false),
  inProcess: option.flag(false),
} satisfies OptionsFor<JobOptions>;

/** {@link JobOptions} with their defaults; all durations in milliseconds. */
export interface ResolvedJobOptions extends Resolved<typeof JOB> {}

const SHORTEST_POLL_INTERVAL = 1_000;

/** Options of the same tool that the job options depend on. */
interface OptionsBeside {
  execution?: unknown;
  isLongRunning?: unknown;
}

/** A tool that can end its calls in its own way can end their jobs. */
interface Cancellable {
  supportsCancellation(): boolean;
  cancel(callId: string): unknown;
}

/**
 * Checks the job options of a tool and fills in the defaults. Of its other options it looks at `execution` and `isLongRunning`.
 * Whether a tool is long-running at all is not asked: it may say so while it runs.
 *
 * @param owner whose options they are, for messages: `FunctionTool "report"`.
 * @throws DefinitionError naming the option.
 */
export function resolveJobOptions(
  owner: string,
  options: JobOptions & OptionsBeside,
  tool: Cancellable,
): ResolvedJobOptions {
  const read = new OptionReader(owner, options);
  if (options.execution === 'inline') refuseInlineJob(read, options);
  const job = readFrom(JOB, read);
  const cancel = (_job: JobView, { functionCallId }: Context) =>
    functionCallId !== undefined && tool.supportsCancellation() && tool.cancel(functionCallId);
  const pollInterval = pollIntervalOf(read, job);
  for (const name of ['startTimeout', 'silenceTimeout'] as const) {
    if ((job[name] ?? 0) > job.deadline) refuseLonger(read, name, job.deadline);
  }
  if (job.inProcess) refuseBesideInProcess(read, options);
  return Object.freeze({ cancel, ...job, pollInterval });
}

/** Options that resolve to the same, for a tool that stands for another one. */
export function jobOptionsOf({ pollInterval, ...job }: ResolvedJobOptions): JobOptions {
  return job.poll === undefined ? job : ({ ...job, pollInterval } as JobOptions);
}

/** The activity of a step ends with its calls: no job of theirs can be waited for. */
function refuseInlineJob(read: OptionReader, options: JobOptions & OptionsBeside): void {
  const given =
    options.isLongRunning === true ? 'isLongRunning' : namesOf(JOB).find((name) => read.given(name));
  if (given === undefined) return;
  read.fail(
    given,
    `a tool with execution: 'inline' runs in the activity of its step, and has no job that could go on: leave ${given} ` +
      "out, or use 'activity'",
  );
}

function pollIntervalOf(read: OptionReader, { poll, pollInterval, deadline }: ResolvedJobOptions): number {
  const longest = Math.max(deadline, SHORTEST_POLL_INTERVAL);
  if (!read.given('pollInterval')) return Math.min(pollInterval, longest);
  if (poll === undefined) {
    read.fail('pollInterval', 'nothing is polled: give poll too, or leave pollInterval out');
  }
  if (pollInterval < SHORTEST_POLL_INTERVAL) read.fail('pollInterval', 'must be 1 s or longer');
  return pollInterval > longest ? refuseLonger(read, 'pollInterval', deadline) : pollInterval;
}

function refuseLonger(read: OptionReader, name: keyof JobOptions, deadline: number): never {
  const time = `${formatDuration(deadline)}${read.given('deadline') ? '' : ' (the default)'}`;
  return read.fail(name, `must not be longer than the deadline, ${time}`);
}

/** Job options that a job in the worker's process can't have, and the reasons. */
const NOT_IN_PROCESS = {
  poll: 'the job is its own run, and no service has its outcome',
  pauseOnReturn: 'the result of the tool is the outcome, for which the turn waits in any case',
  startTimeout: 'a worker shows by its heartbeats that it runs: use heartbeatTimeout',
  silenceTimeout: 'a worker shows by its heartbeats that it runs: use heartbeatTimeout',
};

function refuseBesideInProcess(read: OptionReader, options: JobOptions & OptionsBeside): void {
  for (const [name, why] of Object.entries(NOT_IN_PROCESS)) {
    const given = options[name as keyof JobOptions];
    if (given === undefined || given === false) continue;
    read.fail(name, `does not go with inProcess: true: ${why}`);
  }
  if (options.isLongRunning !== false) return;
  read.fail('isLongRunning', 'contradicts inProcess: true, which is about a job: leave one of them out');
}
