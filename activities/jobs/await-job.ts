import { activityInfo, CompleteAsyncError } from '@temporalio/activity';
import { isAnySensitive } from '../../src/approvals/sensitive.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import type { JobRow } from '../../src/contract/jobs.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { jobIdOf } from '../../src/protocol/identity.ts';
import type { JobEnded, JobTask } from '../../src/protocol/job.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { formatDuration } from '../../src/schema/duration.ts';
import type { EndJob } from '../../src/store/jobs/job-store.ts';
import { Unstorable } from '../../src/store/store-errors.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { type JobOptions, RUN_AGAIN } from '../../src/tools/job-options.ts';
import { isToolError, ToolError } from '../../src/tools/tool-error.ts';
import { NotDeployedHere } from '../agents.ts';
import { type Attempt, retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { describeFailure, storeErrorIn } from '../tool/tool-failure.ts';
import { JobHookContext, ownToolOfJob } from './job-hook-context.ts';
import { askHook, loggerOfJob, outcomeOfHook, outcomeOfTimeout, outOfTime, warnOfHook } from './job-hooks.ts';
import { jobAddress } from './job-of-call.ts';

/** After this many failed polls in a row the job fails. */
const MOST_FAILED_POLLS = 10;
/** Milliseconds until a worker that has the tool may be there. */
const ELSEWHERE_DELAY = 30_000;
/** Milliseconds between attempts that no message completes: as the workflow schedules them. */
const FIRST_BACKOFF = 1_000;
const LONGEST_BACKOFF = 300_000;

/**
 * The activity's input can name any job. The outcome of another call's job would settle this call.
 *
 * @throws HOLDFAST_JOB_LOST
 */
export function assertOwnJob(
  { session, callKey }: Pick<ToolCallInput, 'session' | 'callKey'>,
  jobId: string,
): void {
  if (jobId !== jobIdOf(session, callKey))
    throw new HoldfastError('HOLDFAST_JOB_LOST', `job ${jobId} is one of another call`);
}

/**
 * A job has a row before its tool runs, and a made-up activity can say that it is waited for: its hooks are asked, and its
 * outcome settles the call, only once its tool has run and left it. A poll that has answered shows that, also where it had the tool run
 * again.
 *
 * @throws HOLDFAST_JOB_LOST
 */
export function assertLeft({ jobId, mode, polls }: JobRow): void {
  if (mode === 'started' && polls.notYet === 0)
    throw new HoldfastError('HOLDFAST_JOB_LOST', `job ${jobId} is not waited for: its tool has not left it`);
}

/**
 * One attempt to see a job's end. Until it has ended there is nothing to return: the attempt fails without harm where there is something to look
 * at later, and is left to the job's end where there is not.
 *
 * @throws HOLDFAST_JOB_LOST, CompleteAsyncError
 */
export async function awaitJob(
  dependencies: ActivityDependencies,
  input: ToolCallInput,
  { jobId }: Extract<JobTask, { do: 'wait' }>,
  current: Attempt,
): Promise<JobEnded> {
  const { session } = input;
  const row = await dependencies.store.jobs.await({ session, jobId, address: jobAddress() });
  if (row === undefined)
    throw new HoldfastError('HOLDFAST_JOB_LOST', `job ${jobId} is not in the store: its session was deleted`);
  assertLeft(row);
  if (row.status !== 'running') return { v: PROTOCOL_VERSION, ended: jobId };
  const resumes = row.mode === 'started' || (await new WaitAttempt(dependencies, input, row, current).wait());
  return { v: PROTOCOL_VERSION, ended: jobId, ...(resumes ? { resumes } : {}) };
}

/** The time at which a job without heartbeats fails. */
interface Check {
  at: number;
  text: string;
}

class WaitAttempt {
  readonly #dependencies: ActivityDependencies;
  readonly #input: ToolCallInput;
  readonly #row: JobRow;
  readonly #current: Attempt;

  constructor(dependencies: ActivityDependencies, input: ToolCallInput, row: JobRow, current: Attempt) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#row = row;
    this.#current = current;
  }

  /** Whether the tool is to run again; returns once that is so, or the job has ended. */
  async wait(): Promise<boolean> {
    let hookContext: JobHookContext | undefined;
    let tool: BaseTool | undefined;
    try {
      tool = ownToolOfJob(this.#dependencies, this.#input, this.#row);
      if (tool === undefined || tool.job.poll !== undefined) hookContext = await this.#hookContext();
    } catch (error) {
      if (!(error instanceof NotDeployedHere)) throw error;
      loggerOfJob(this.#dependencies, this.#row).warn(error.message);
      // The job's end is noticed nevertheless.
      throw pending(ELSEWHERE_DELAY);
    }
    tool ??= hookContext?.tool as BaseTool;
    const { poll } = tool.job;
    if (poll !== undefined && hookContext !== undefined) return await this.#poll(hookContext, poll);
    return await this.#checkSilence(tool);
  }

  async #checkSilence(tool: BaseTool): Promise<false> {
    const now = await this.#dependencies.store.now();
    const check = checkOf(tool, this.#row);
    if (check !== undefined && check.at <= now) return await this.#timedOut(check.text);
    // An attempt after the deadline would not hear of an outcome: the server gives it up at once.
    const isDue = check !== undefined && check.at <= this.#row.until && check.at - now < untilNextAttempt();
    if (isDue) throw pending(check.at - now);
    throw new CompleteAsyncError();
  }

  async #poll(hookContext: JobHookContext, poll: NonNullable<JobOptions['poll']>): Promise<boolean> {
    const { store } = this.#dependencies;
    const { session, jobId } = this.#row;
    let row: JobRow;
    let { pollInterval } = hookContext.tool.job;
    try {
      const answer = await askHook(hookContext, 'poll', poll, this.#current);
      pollInterval = answer.context.job.pollAfter ?? pollInterval;
      if (answer.value === RUN_AGAIN) {
        if (this.#row.mode !== 'parked')
          throw new ToolError('its tool can’t ask people any more: its turn went on without it', {
            retryable: false,
          });
        const { status } = await store.jobs.resume({ session, jobId });
        return status === 'running';
      }
      if (answer.value !== undefined && answer.value !== null) {
        const outcome = await outcomeOfHook(this.#dependencies, hookContext, answer);
        await this.#end({ status: 'completed', outcome, by: 'poll' });
        return false;
      }
      row = await store.jobs.recordPoll({ session, jobId });
    } catch (error) {
      if (this.#current.signal.aborted) throw this.#current.aborted();
      const storeError = storeErrorIn(error);
      if (storeError instanceof Unstorable) {
        await this.#unstorable();
        return false;
      }
      if (storeError !== undefined) throw storeError;
      row = await this.#failed(hookContext, error);
    }
    if (row.status !== 'running') return false;
    const now = await store.now();
    const check = checkOf(hookContext.tool, row);
    if (check !== undefined && check.at <= now) return await this.#timedOut(check.text, hookContext);
    if (row.until <= now) return await this.#timedOut(outOfTime(row), hookContext);
    const next = Math.min(now + pollInterval, row.until, check?.at ?? row.until);
    throw pending(Math.max(next - now, 1));
  }

  async #failed(hookContext: JobHookContext, thrown: unknown): Promise<JobRow> {
    const { session, jobId, tool: name } = this.#row;
    const { sensitive } = hookContext.tool.durable;
    warnOfHook(this.#dependencies, hookContext, 'poll', thrown);
    // Operators read it in lists of jobs.
    const error = isAnySensitive(sensitive) ? `Error in tool '${name}'` : describeFailure(thrown).message;
    const row = await this.#dependencies.store.jobs.recordPoll({ session, jobId, error });
    if (row.status !== 'running') return row;
    const isFinal = isToolError(thrown) && thrown.retryable === false;
    if (!isFinal && row.polls.failedInARow < MOST_FAILED_POLLS) return row;
    const inVain = `its job was polled in vain, ${row.polls.failedInARow} times in a row: ${error}`;
    const text = isFinal ? error : `Error in tool '${name}': ${inVain}`;
    const outcome = { response: { error: text }, failed: true };
    await this.#end({ status: 'failed', outcome, by: 'poll' });
    return { ...row, status: 'failed' };
  }

  async #unstorable(): Promise<void> {
    const error = `Error in tool '${this.#row.tool}': the outcome of its job can't be stored`;
    await this.#end({ status: 'failed', outcome: { response: { error }, failed: true }, by: 'poll' });
  }

  async #timedOut(text: string, known?: JobHookContext): Promise<false> {
    const hookContext = known ?? (await this.#hookContext());
    const outcome = await outcomeOfTimeout(this.#dependencies, hookContext, text, this.#current);
    await this.#end({ status: 'timed_out', outcome, by: 'timeout', reason: text });
    return false;
  }

  async #end(end: Omit<EndJob, 'jobId'>): Promise<void> {
    await this.#dependencies.store.jobs.end({ jobId: this.#row.jobId, ...end });
  }

  #hookContext(): Promise<JobHookContext> {
    return JobHookContext.open(this.#dependencies, this.#input, this.#row, this.#current);
  }
}

/** The job goes on: nothing has failed. */
function pending(delay: number): Error {
  return retryLater('HOLDFAST_JOB_PENDING', 'the job goes on', { delay, benign: true });
}

/** Undefined where the tool doesn't ask for signs of life. */
function checkOf({ job }: BaseTool, row: JobRow): Check | undefined {
  const { startTimeout, silenceTimeout, pollInterval } = job;
  const { notYet, failedInARow, lastAt = 0 } = row.polls;
  // The last that answered; those after it have failed.
  const answeredAt = notYet === 0 ? 0 : lastAt - failedInARow * pollInterval;
  const heardAt = Math.max(row.heardAt ?? 0, answeredAt);
  if (heardAt === 0 && startTimeout !== undefined) {
    const text = `its job gave no sign of life within ${formatDuration(startTimeout)} (its startTimeout)`;
    return { at: row.since + startTimeout, text };
  }
  if (silenceTimeout === undefined) return undefined;
  const text = `its job gave no sign of life for ${formatDuration(silenceTimeout)} (its silenceTimeout)`;
  return { at: Math.max(heardAt, row.since) + silenceTimeout, text };
}

/** Milliseconds until the server begins the next attempt, unless this one is completed. */
function untilNextAttempt(): number {
  const { startToCloseTimeoutMs, attempt } = activityInfo();
  return startToCloseTimeoutMs + Math.min(FIRST_BACKOFF * 2 ** (attempt - 1), LONGEST_BACKOFF);
}
