import { activityInfo } from '@temporalio/activity';
import { hasCode } from '../../src/contract/error.ts';
import type { JobOutcome, JobRow } from '../../src/contract/jobs.ts';
import { awaitedJob } from '../../src/flows/plan-calls.ts';
import { signalProgress } from '../../src/jobs/complete-wait.ts';
import { signJobToken } from '../../src/jobs/job-token.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { jobIdOf } from '../../src/protocol/identity.ts';
import type { AwaitedJob } from '../../src/protocol/job.ts';
import { defined } from '../../src/protocol/json.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { JsonValueError, toJsonValue } from '../../src/schema/json-value.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import type { JobAddress, JobClaims } from '../../src/store/jobs/job-store.ts';
import { attemptReplaced, Unstorable } from '../../src/store/store-errors.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { JobInit } from '../../src/tools/invocation-context.ts';
import type { RecordedAnswers } from '../approvals/call-answers.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { plannedArguments } from '../tool/begin-call.ts';
import type { StartedCall } from '../tool/tool-failure.ts';
import { type JobNotes, recordNotes } from './job-notes.ts';

/** The end of a run that has returned: only its result, or a job that decides. */
export type LeftJob =
  | { kind: 'result' }
  /** The turn waits for the job's outcome. */
  | { kind: 'parked'; parks: AwaitedJob }
  /** The model gets the tool's result. */
  | { kind: 'detached'; detached: AwaitedJob }
  | ({ kind: 'ended' } & JobEndedFirst);

/** The job has ended before its call has. */
export interface JobEndedFirst {
  outcome: JobOutcome;
  /** The outcome is not wanted any more: the job's service is to be told. */
  unwanted?: true;
}

/** The fields of a call that its job needs. */
interface CallToStart {
  input: ToolCallInput;
  begun: StartedCall;
  tool: BaseTool;
  answers: Pick<RecordedAnswers, 'credentialRefs'>;
}

/** The job of a running call, which its tool may also open while it runs. */
export class JobOfCall {
  /** As the tool sees it, in this attempt. */
  readonly init: JobInit;
  readonly #dependencies: ActivityDependencies;
  readonly #call: CallToStart;
  #row: JobRow | undefined;
  /** Somebody may have its token: it is told of an end, too, where no row was written. */
  #isGiven = false;
  #id: string | undefined;
  /** The store's time when this process began to count on. */
  readonly #began: { now: number; at: number };

  /** @param now by the store's clock. */
  constructor(dependencies: ActivityDependencies, call: CallToStart, now: number) {
    const { tool } = call;
    this.#dependencies = dependencies;
    this.#call = call;
    this.#began = { now, at: performance.now() };
    const { inProcess, deadline } = tool.job;
    this.init = jobInit(dependencies, {
      claims: () => this.#claims,
      until: now + deadline,
      longRunning: tool.isLongRunning,
      details: inProcess ? activityInfo().heartbeatDetails : undefined,
      given: () => {
        this.#isGiven = true;
      },
      opened: () => this.opened(),
    });
  }

  get id(): string {
    const { session, callKey } = this.#call.input;
    this.#id ??= jobIdOf(session, callKey);
    return this.#id;
  }

  /** Whether this attempt knows of its row. */
  get isOpen(): boolean {
    return this.#row !== undefined;
  }

  /** Milliseconds that the tool's run may take: in process no longer than the job. */
  get timeLeft(): number {
    const { job, durable } = this.#call.tool;
    if (!job.inProcess) return durable.timeout;
    return Math.max(Math.min(durable.timeout, this.init.until - this.#now), 1);
  }

  /** The job that an earlier attempt left, if the tool needs no other run. */
  async left(): Promise<Exclude<LeftJob, { kind: 'result' }> | undefined> {
    if (this.#call.begun.attempt === 1) return undefined;
    const row = await this.#dependencies.store.jobs.find(this.id);
    if (row === undefined) return undefined;
    this.#row = row;
    if (row.mode === 'detached') return { kind: 'detached', detached: this.#awaited(row) };
    if (row.outcome !== undefined) return { kind: 'ended', ...endedBy(row, row.outcome) };
    return row.mode === 'parked' ? { kind: 'parked', parks: this.#awaited(row) } : undefined;
  }

  /** The facts of a run with these arguments that later looks at its job can't find out themselves. */
  notesOf(args: Record<string, unknown>): JobNotes {
    const { answers } = this.#call;
    const credentials = [...answers.credentialRefs];
    const json = jsonIn(args);
    const planned = plannedArguments(this.#call.input, this.#call.begun);
    const isPlanned = json === undefined || canonicalJson(json) === canonicalJson(planned);
    return { ...(isPlanned ? {} : { args: json }), ...(credentials.length === 0 ? {} : { credentials }) };
  }

  /** The response that an earlier attempt gave to the model. */
  get intermediate(): Record<string, unknown> {
    return this.#row?.intermediate ?? {};
  }

  /** Before its tool runs, where that is declared as long-running. */
  async begun(): Promise<JobEndedFirst | undefined> {
    if (!this.#call.tool.isLongRunning) return undefined;
    const row = await this.opened();
    return row.outcome && endedBy(row, row.outcome);
  }

  /** Its row, written where it isn't there. */
  async opened(): Promise<JobRow> {
    if (this.#row?.address !== undefined && this.#row.address.activityId === activityInfo().activityId)
      return this.#row;
    const { until: _until, ...job } = this.#claims;
    const { deadline } = this.#call.tool.job;
    this.#row = await this.#dependencies.store.jobs.open({ ...job, address: jobAddress(), deadline });
    this.init.until = this.#row.until;
    return this.#row;
  }

  /**
   * The tool has returned, and the job may go on.
   *
   * @param response the tool's result; undefined where it has returned nothing.
   * @throws Unstorable, and an error after which another attempt runs.
   */
  async returned(response: Record<string, unknown> | undefined, notes: () => JobNotes): Promise<LeftJob> {
    const { pauseOnReturn, inProcess } = this.#call.tool.job;
    if (!this.init.longRunning || inProcess) {
      const ended = await this.end({ response: response ?? {}, failed: false });
      return ended === undefined ? { kind: 'result' } : { kind: 'ended', ...ended };
    }
    const { store } = this.#dependencies;
    const { session, callKey } = this.#call.input;
    const before = await this.opened();
    if (before.outcome !== undefined) return { kind: 'ended', ...endedBy(before, before.outcome) };
    await recordNotes(store, { session, callKey }, notes());
    const place = { session, jobId: this.id };
    const parks = response === undefined || pauseOnReturn;
    let row: JobRow | undefined;
    try {
      row = parks
        ? await store.jobs.park({
            ...place,
            attempt: this.#call.begun.attempt,
            ...defined({ intermediate: response }),
          })
        : await store.jobs.detach({ ...place, intermediate: response });
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      return { kind: 'ended', ...(await this.#unstorable()) };
    }
    if (row === undefined) throw attemptReplaced(callKey);
    if (row.outcome !== undefined) return { kind: 'ended', ...endedBy(row, row.outcome) };
    return parks
      ? { kind: 'parked', parks: this.#awaited(row) }
      : { kind: 'detached', detached: this.#awaited(row) };
  }

  /**
   * Ends the job, where there is one, with the call's outcome.
   *
   * @returns the recorded outcome, where it is another one.
   */
  async end(
    outcome: JobOutcome,
    status: 'completed' | 'failed' | 'timed_out' = outcome.failed ? 'failed' : 'completed',
  ): Promise<JobEndedFirst | undefined> {
    if (this.#row === undefined && !this.#isGiven) return undefined;
    const by = status === 'timed_out' ? 'timeout' : 'tool';
    try {
      const { first, job } = await this.#dependencies.store.jobs.end({
        jobId: this.id,
        status,
        outcome,
        by,
        claims: this.#claims,
      });
      return first || job.outcome === undefined ? undefined : endedBy(job, job.outcome);
    } catch (error) {
      // The session was deleted meanwhile: the next write says so.
      if (hasCode(error, 'HOLDFAST_UNKNOWN_JOB')) return undefined;
      if (error instanceof Unstorable && !outcome.failed) return await this.#unstorable();
      throw error;
    }
  }

  async #unstorable(): Promise<JobEndedFirst> {
    const error = `Error in tool '${this.#call.tool.name}': its result can't be stored; it has run`;
    const outcome = { response: { error }, failed: true };
    return (await this.end(outcome)) ?? { outcome };
  }

  #awaited(row: JobRow): AwaitedJob {
    return awaitedJob(this.#call.tool, this.id, Math.max(row.until - this.#now, 1));
  }

  /** By the store's clock. */
  get #now(): number {
    return Math.floor(this.#began.now + performance.now() - this.#began.at);
  }

  get #claims() {
    const { session, runKey, callKey, callId, agent } = this.#call.input;
    const { id: jobId } = this;
    return {
      jobId,
      session,
      runKey,
      callKey,
      callId,
      tool: this.#call.tool.name,
      agent,
      until: this.init.until,
    };
  }
}

function endedBy({ status }: JobRow, outcome: JobOutcome): JobEndedFirst {
  const isUnwanted = status === 'cancelled' || status === 'timed_out';
  return { outcome, ...(isUnwanted ? { unwanted: true } : {}) };
}

/** Undefined where callbacks have made something else of the arguments: the run is over, and that is no reason to fail it. */
function jsonIn(args: Record<string, unknown>): Record<string, unknown> | undefined {
  try {
    return toJsonValue(args) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof JsonValueError) return undefined;
    throw error;
  }
}

interface JobParts {
  claims: () => JobClaims;
  until: number;
  longRunning: boolean;
  details?: unknown;
  /** Its token was asked for. */
  given?: () => void;
  /** Writes its row where there is none. */
  opened: () => Promise<JobRow>;
}

export function jobInit(dependencies: ActivityDependencies, parts: JobParts): JobInit {
  const { publicUrl, credentialKeys, store } = dependencies;
  const { claims, until, longRunning, details } = parts;
  return {
    get id() {
      return claims().jobId;
    },
    until,
    longRunning,
    ...defined({ details }),
    callbackUrl() {
      const url = publicUrl();
      return url === undefined ? undefined : `${url}/v1/jobs/${claims().jobId}`;
    },
    token() {
      if (credentialKeys === undefined) return undefined;
      parts.given?.();
      return signJobToken(credentialKeys, claims());
    },
    async progress(value, message) {
      await parts.opened();
      const told = { jobId: claims().jobId, value, ...defined({ message }) };
      const { job, tells } = await store.jobs.progress(told);
      if (tells) await tellProgress(dependencies, job);
    },
  };
}

/** Has the waiting workflow show its job's progress, without a wait. */
export async function tellProgress(
  { temporal, logger, conceal }: Pick<ActivityDependencies, 'temporal' | 'logger' | 'conceal'>,
  job: JobRow,
): Promise<void> {
  try {
    await signalProgress(temporal(), job);
  } catch (error) {
    logger.debug('a workflow was not told of its job’s progress', {
      jobId: job.jobId,
      ...(conceal ? {} : { problem: thrownMessage(error) }),
    });
  }
}

/** The token of the running activity: its job's end completes it. */
export function jobAddress(): JobAddress {
  const { workflowExecution, activityId } = activityInfo();
  if (workflowExecution === undefined) throw new Error('an activity of a call belongs to a workflow');
  const { workflowId, runId } = workflowExecution;
  return { workflowId, runId, activityId };
}
