import type { JobProgress } from '../contract/jobs.ts';
import { defined } from '../protocol/json.ts';
import { type Duration, formatDuration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import { OptionReader } from '../schema/option-reader.ts';
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
export interface JobOptions {
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
  cancel?: (job: JobView, toolContext: Context) => unknown;
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

/** Milliseconds: 7 days. */
export const DEFAULT_JOB_DEADLINE = 7 * 86_400_000;
const SHORTEST_POLL_INTERVAL = 1_000;

/** Options of the same tool that the job options depend on. */
interface OptionsBeside {
  execution?: unknown;
  isLongRunning?: unknown;
}

/**
 * Checks the job options of a tool and fills in the defaults. Of its other options it looks at `execution` and `isLongRunning`.
 * Whether a tool is long-running at all is not asked: it may say so while it runs.
 *
 * @param owner whose options they are, for messages: `FunctionTool "report"`.
 * @throws DefinitionError naming the option.
 */
export function resolveJobOptions(owner: string, options: JobOptions & OptionsBeside): ResolvedJobOptions {
  const read = new OptionReader(owner, options);
  if (options.execution === 'local') refuseLocalJob(read, options);
  const { poll, cancel, onTimeout } = hooksOf(read, options);
  const deadline = read.duration('deadline', DEFAULT_JOB_DEADLINE);
  const pollInterval = pollIntervalOf(read, poll !== undefined, deadline);
  const startTimeout = checkTimeOf(read, 'startTimeout', deadline);
  const silenceTimeout = checkTimeOf(read, 'silenceTimeout', deadline);
  const pauseOnReturn = read.boolean('pauseOnReturn', false);
  const inProcess = read.boolean('inProcess', false);
  if (inProcess) refuseBesideInProcess(read, options);
  return Object.freeze({
    ...defined({ poll }),
    pollInterval,
    ...defined({ cancel, onTimeout }),
    deadline,
    ...defined({ startTimeout, silenceTimeout }),
    pauseOnReturn,
    inProcess,
  });
}

/** Options that resolve to the same, for a tool that stands for another one. */
export function jobOptionsOf({ pollInterval, ...job }: ResolvedJobOptions): JobOptions {
  return job.poll === undefined ? job : ({ ...job, pollInterval } as JobOptions);
}

/** A local activity ends with its workflow task: nothing of it can be waited for. */
function refuseLocalJob(read: OptionReader, options: JobOptions & OptionsBeside): void {
  const given =
    options.isLongRunning === true ? 'isLongRunning' : JOB_OPTIONS.find((name) => read.given(name));
  if (given === undefined) return;
  read.fail(
    given,
    `a tool with execution: 'local' runs in the worker that runs the turn, and has no job that could go on: leave ${given} ` +
      "out, or use 'activity'",
  );
}

function hooksOf(read: OptionReader, options: JobOptions): Pick<JobOptions, 'poll' | 'cancel' | 'onTimeout'> {
  for (const name of ['poll', 'cancel', 'onTimeout'] as const) {
    const hook: unknown = options[name];
    if (hook === undefined || typeof hook === 'function') continue;
    read.fail(name, `expected a function of the job and its context, got ${kindOf(hook)}`);
  }
  return options;
}

function pollIntervalOf(read: OptionReader, polls: boolean, deadline: number): number {
  const longest = Math.max(deadline, SHORTEST_POLL_INTERVAL);
  const interval = read.duration('pollInterval', Math.min(30_000, longest));
  if (!read.given('pollInterval')) return interval;
  if (!polls) read.fail('pollInterval', 'nothing is polled: give poll too, or leave pollInterval out');
  if (interval < SHORTEST_POLL_INTERVAL) read.fail('pollInterval', 'must be 1 s or longer');
  if (interval > longest) {
    read.fail('pollInterval', `must not be longer than the deadline, ${timeOf(read, 'deadline', deadline)}`);
  }
  return interval;
}

function checkTimeOf(
  read: OptionReader,
  name: 'startTimeout' | 'silenceTimeout',
  deadline: number,
): number | undefined {
  if (!read.given(name)) return undefined;
  const time = read.duration(name, deadline);
  if (time <= deadline) return time;
  return read.fail(name, `must not be longer than the deadline, ${timeOf(read, 'deadline', deadline)}`);
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

function timeOf(read: OptionReader, name: string, time: number): string {
  return `${formatDuration(time)}${read.given(name) ? '' : ' (the default)'}`;
}
