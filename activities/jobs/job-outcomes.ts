import type { JobOutcome } from '../../src/contract/jobs.ts';
import type { AwaitedJob } from '../../src/protocol/job.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { toFunctionResponse } from '../../src/tools/function-response.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';
import { type Attempt, retryLater } from '../attempt.ts';
import { inTime } from '../deadline.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { effectsOf } from '../tool/call-context.ts';
import {
  type CallOutcome,
  callbackTooLate,
  errorOutcome,
  LEAST_CALLBACK_TIME,
  outcomeOfFailure,
} from '../tool/settle-call.ts';
import type { CalledTool, ToolCallbacks } from '../tool/tool-callbacks.ts';
import { recordedFailure, storeErrorIn } from '../tool/tool-failure.ts';
import { JobHookContext } from './job-hook-context.ts';
import { hookTime, outcomeOfTimeout, outOfTime, runCancelHook } from './job-hooks.ts';
import type { JobEndedFirst, JobOfCall, LeftJob } from './job-of-call.ts';

/** A call that goes on as a job: nothing is settled. */
export interface ParkedRun {
  parks: AwaitedJob;
}

interface ToolRunCall {
  input: ToolCallInput;
  callbacks: ToolCallbacks;
  job: JobOfCall | undefined;
}

/** The result of a running call, by its job. */
export class JobOutcomes {
  readonly #dependencies: ActivityDependencies;
  readonly #current: Attempt;
  readonly #call: ToolRunCall;
  readonly #called: (actions: CallActions | undefined) => CalledTool;

  /** @param called makes the call that callbacks see; its effects begin with the given actions. */
  constructor(
    dependencies: ActivityDependencies,
    current: Attempt,
    call: ToolRunCall,
    called: (actions: CallActions | undefined) => CalledTool,
  ) {
    this.#dependencies = dependencies;
    this.#current = current;
    this.#call = call;
    this.#called = called;
  }

  /** @param actions what the run has done beside. */
  async of(
    left: Exclude<LeftJob, { kind: 'result' }>,
    actions: CallActions | undefined,
  ): Promise<CallOutcome | ParkedRun> {
    if (left.kind === 'parked') return { parks: left.parks };
    if (left.kind === 'ended') return await this.ended(left, actions);
    const response = this.#call.job?.intermediate ?? {};
    const heard = await this.#heard({ response, failed: false }, actions, true);
    return { ...heard, detached: left.detached };
  }

  async ended({ outcome, unwanted }: JobEndedFirst, actions: CallActions | undefined): Promise<CallOutcome> {
    const { job, input } = this.#call;
    if (unwanted && job !== undefined) {
      const row = await job.opened();
      const hookContext = await JobHookContext.open(this.#dependencies, input, row, this.#current);
      const delay = await runCancelHook(this.#dependencies, hookContext, this.#current);
      if (delay !== undefined) {
        const text = `cancel of tool '${hookContext.tool.name}' failed`;
        throw retryLater('HOLDFAST_JOB_HOOK_FAILED', text, { delay });
      }
    }
    return await this.#heard(outcome, actions);
  }

  /** A running call is cancelled: its job's service is told, as after the tool's return, unless the job has its outcome by now. */
  async runCancelHook(job: JobOfCall): Promise<void> {
    if (!this.#current.isCancelled()) return;
    const opened = await job.opened();
    const row = (await this.#dependencies.store.jobs.find(opened.jobId)) ?? opened;
    if (row.status === 'completed' || row.status === 'failed') return;
    // The attempt's own signal has fired by now.
    const current = { ...this.#current, signal: new AbortController().signal };
    const hookContext = await JobHookContext.open(this.#dependencies, this.#call.input, row, current);
    await runCancelHook(this.#dependencies, hookContext, current);
  }

  /** The run is the job, and has used up its time. */
  async outOfTime(job: JobOfCall, actions: CallActions | undefined): Promise<CallOutcome> {
    const row = await job.opened();
    const hookContext = await JobHookContext.open(this.#dependencies, this.#call.input, row, this.#current);
    const outcome = await outcomeOfTimeout(this.#dependencies, hookContext, outOfTime(row), this.#current);
    return await this.abandoned(job, outcome, actions);
  }

  /** Nothing waits for the job any more: its service is told. */
  async abandoned(
    job: JobOfCall,
    outcome: JobOutcome,
    actions: CallActions | undefined,
  ): Promise<CallOutcome> {
    const ended = await job.end(outcome, 'timed_out');
    return await this.ended(ended ?? { outcome, unwanted: true }, actions);
  }

  /** Outcomes that were not delivered yet. */
  async #heard(
    outcome: JobOutcome,
    actions: CallActions | undefined,
    isIntermediate = false,
  ): Promise<CallOutcome> {
    const { callbacks } = this.#call;
    const call = this.#called(actions);
    return await outcomeByHooks({
      ...{ callbacks, call, outcome, current: this.#current, time: hookTime(call.tool) },
      ...(isIntermediate ? { isIntermediate } : {}),
    });
  }
}

/** The outcome of a call's job, for callbacks. */
interface OutcomeForHooks {
  callbacks: ToolCallbacks;
  call: CalledTool;
  outcome: JobOutcome;
  /** The tool's intermediate result: the schema is for the outcome. */
  isIntermediate?: true;
  /** Milliseconds that the callbacks may take. */
  time: number;
  current: Attempt;
}

/** The outcome of a call, from its job: checked like the tool's own result, then changed by callbacks. */
export async function outcomeByHooks(heard: OutcomeForHooks): Promise<CallOutcome> {
  const { callbacks, call, isIntermediate, current } = heard;
  const time = Math.max(heard.time, LEAST_CALLBACK_TIME);
  const { failed } = heard.outcome;
  let { response } = heard.outcome;
  if (!failed && isIntermediate === undefined) {
    try {
      response = await checkedResponse(call.tool, response);
    } catch (error) {
      if (storeErrorIn(error) !== undefined) throw error;
      return await outcomeOfFailure(callbacks, { call, thrown: error, time, current });
    }
  }
  if (failed) {
    const thrown = recordedFailure(errorText(response));
    return await outcomeOfFailure(callbacks, { call, thrown, unanswered: response, time, current });
  }
  const asItCame = { response, failed, actions: effectsOf(call.context) };
  if (!callbacks.has('afterToolCallback')) return asItCame;
  const late = () => callbackTooLate(call, 'afterToolCallback', time);
  try {
    const after = await inTime(() => callbacks.after(call, response), { time, late, current });
    return { response: after.response, failed, actions: effectsOf(call.context) };
  } catch (error) {
    if (current.signal.aborted) throw error;
    return errorOutcome(error);
  }
}

/** A service's result that is no object has come as `{ result }`, and the tool's schema may be of that. */
async function checkedResponse(
  tool: BaseTool,
  response: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { result, ...more } = response;
  const isWrapped = Object.hasOwn(response, 'result') && Object.keys(more).length === 0;
  try {
    return toFunctionResponse(await tool.readResult(isWrapped ? result : response));
  } catch (error) {
    if (!isWrapped || !(error instanceof InvalidResultError)) throw error;
    return toFunctionResponse(await tool.readResult(response));
  }
}

function errorText({ error, ...more }: Record<string, unknown>): string {
  if (typeof error === 'string' && Object.keys(more).length === 0) return error;
  return JSON.stringify({ error, ...more });
}
