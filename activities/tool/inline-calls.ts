import { asyncLocalStorage, CancelledFailure, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { CANCELLED_CALLS_QUERY, INLINE_CALLS } from '../../src/protocol/names.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type {
  CallModelInput,
  InlineCallsTold,
  InlineResult,
  PlannedCall,
  StepOutcome,
  ToolCallInput,
  ToolCallResult,
} from '../../src/protocol/step.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { type CallPlace, callLogger } from '../logging.ts';
import { runTool } from './call.ts';

export type CallsOfStep = Extract<StepOutcome, { kind: 'calls' }>;

/** Milliseconds between two heartbeats that name the calls, and two questions which of them were cancelled. */
const INTERVAL = 400;

/** Milliseconds after which the workflow is told of a call. */
const LONG = 300;

/** Milliseconds until the next attempt where a failure says nothing: as between attempts of an activity. */
const NEXT_ATTEMPT = 1_000;

const CANCELLED = new CancelledFailure('CANCELLED');
const CANCELLED_CALL: InlineResult = { v: PROTOCOL_VERSION, cancelled: true };

function goesOn(after = 0, spent = 0): InlineResult {
  return { v: PROTOCOL_VERSION, goesOn: { after, spent: Math.round(spent) } };
}

/**
 * The calls of a step that its own activity runs: those before one that runs alone. Calls that wait for a person, and agents, are
 * the workflow's.
 */
export function inlineCalls({ calls, schedules }: CallsOfStep): PlannedCall[] {
  const alone = calls.findIndex(({ tool }) => schedules[tool]?.exclusive);
  const beside = alone === -1 ? calls : calls.slice(0, alone);
  return beside.filter(
    ({ tool, gate, runs }) => schedules[tool]?.inline && gate === undefined && runs === undefined,
  );
}

interface StepActivity {
  dependencies: ActivityDependencies;
  current: Attempt;
  place: CallPlace;
}

interface RunningCall extends Pick<PlannedCall, 'callKey' | 'callId' | 'tool'> {
  state: 'waits' | 'running' | 'ended';
  /** Milliseconds since the epoch. */
  since: number;
  cancel: AbortController;
}

/** Calls that run in the activity of their steps, with the rows of the ledger that they have as activities. */
export class InlineCalls {
  readonly #activity: StepActivity;
  #step = 0;
  #calls = new Map<string, RunningCall>();
  #ticking: NodeJS.Timeout | undefined;
  /** Keys of the calls that the workflow knows of. */
  #told = '';
  #hasWarned = false;

  constructor(activity: StepActivity) {
    this.#activity = activity;
  }

  /**
   * Runs calls of one step, `maxParallelCalls` at a time.
   *
   * @throws the error of an attempt that was aborted, once no call runs any more: another attempt finds the ledger's rows.
   */
  async run(
    input: CallModelInput,
    outcome: CallsOfStep,
    calls: readonly PlannedCall[],
  ): Promise<Record<string, InlineResult>> {
    const { current } = this.#activity;
    this.#step = input.step;
    this.#calls = new Map(
      calls.map(({ callKey, callId, tool }) => [
        callKey,
        { callKey, callId, tool, state: 'waits', since: Date.now(), cancel: new AbortController() },
      ]),
    );
    this.#ticking ??= setInterval(() => void this.#tick(), INTERVAL).unref();
    const results: Record<string, InlineResult> = {};
    const left = calls.values();
    const runNext = async () => {
      for (const call of left)
        results[call.callKey] = await this.#run(inputOf(input, outcome, call), outcome, call);
    };
    await Promise.all(Array.from({ length: Math.min(outcome.maxParallelCalls, calls.length) }, runNext));
    if (current.signal.aborted) throw current.aborted();
    return results;
  }

  close(): void {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }

  async #run(input: ToolCallInput, outcome: CallsOfStep, call: PlannedCall): Promise<InlineResult> {
    const { dependencies, current } = this.#activity;
    const running = this.#calls.get(call.callKey) as RunningCall;
    if (running.cancel.signal.aborted) return CANCELLED_CALL;
    // It has not begun, which another attempt at the step finds in the ledger.
    if (current.signal.aborted) return goesOn();
    const schedule = outcome.schedules[call.tool] as ToolSchedule;
    const began = performance.now();
    const own = attemptOf(current, running, began + schedule.startToClose);
    running.state = 'running';
    running.since = Date.now();
    try {
      const work = () => runTool(dependencies, input, own) as Promise<ToolCallResult>;
      return await asyncLocalStorage.run(contextOf(call, schedule), work);
    } catch (error) {
      if (running.cancel.signal.aborted) return CANCELLED_CALL;
      if (!current.signal.aborted)
        this.#log(call).debug('a call goes on as an activity of its own', this.#problem(error));
      return goesOn(delayOf(error), performance.now() - began);
    } finally {
      running.state = 'ended';
    }
  }

  /** The heartbeat shows operators the calls. Calls that take a while are told to the workflow, so that they can be cancelled. */
  async #tick(): Promise<void> {
    const calls = [...this.#calls.values()];
    const shown = calls.map(({ callKey, tool, state, since }) => ({
      ...{ callKey, tool, state },
      since: new Date(since).toISOString(),
    }));
    this.#activity.current.heartbeat({ step: this.#step, calls: shown });
    const open = calls.filter(({ state }) => state !== 'ended');
    if (!open.some(({ state, since }) => state === 'running' && Date.now() - since >= LONG)) return;
    try {
      await this.#ask(open);
    } catch (error) {
      this.#told = '';
      if (this.#hasWarned || this.#ticking === undefined) return;
      this.#hasWarned = true;
      callLogger(this.#activity.dependencies, this.#activity.place).warn(
        'the workflow does not hear of the calls of its step',
        this.#problem(error),
      );
    }
  }

  async #ask(open: readonly RunningCall[]): Promise<void> {
    const { workflowExecution } = Context.current().info;
    if (workflowExecution === undefined) return;
    const { workflowId, runId } = workflowExecution;
    const workflow = this.#activity.dependencies.temporal().workflow.getHandle(workflowId, runId);
    const step = this.#step;
    const keys = open.map(({ callKey }) => callKey).join();
    if (this.#told !== keys) {
      const calls = open.map(({ callKey, callId, tool, since }) => ({ callKey, callId, tool, since }));
      this.#told = keys;
      await workflow.signal<[InlineCallsTold]>(INLINE_CALLS, { step, calls });
    }
    const cancelled = await workflow.query<unknown>(CANCELLED_CALLS_QUERY);
    if (!Array.isArray(cancelled)) return;
    for (const callKey of cancelled) this.#calls.get(callKey)?.cancel.abort(CANCELLED);
  }

  #log({ callKey, tool }: PlannedCall) {
    return callLogger(this.#activity.dependencies, { ...this.#activity.place, callKey, tool });
  }

  #problem(error: unknown): { problem?: string } {
    return this.#activity.dependencies.conceal ? {} : { problem: thrownMessage(error) };
  }
}

/** The attempt of a call within that of its step. */
function attemptOf(current: Attempt, running: RunningCall, ends: number): Attempt {
  const { signal } = running.cancel;
  return {
    isInline: true,
    signal: AbortSignal.any([current.signal, signal]),
    aborted: () => (signal.aborted ? CANCELLED : current.aborted()),
    isRetried: () => !signal.aborted && current.isRetried(),
    isCancelled: () => signal.aborted || current.isCancelled(),
    // Temporal would show details of one call as those of its step.
    heartbeat: () => undefined,
    timeLeft: () => Math.min(ends - performance.now(), current.timeLeft()),
  };
}

/** Code of the user's sees the activity that the call would be. */
function contextOf({ callKey, tool }: PlannedCall, { startToClose }: ToolSchedule): Context {
  const context = Context.current();
  const info = {
    ...context.info,
    ...{ activityType: tool, activityId: callKey, startToCloseTimeoutMs: startToClose },
    heartbeatDetails: undefined,
  };
  return Object.create(context, { info: { value: info } });
}

function inputOf(
  {
    runKey,
    traceparent,
    handedOnBy,
    within,
    branch,
    path,
    rootWorkflowId,
    tracedBelow,
    root,
  }: CallModelInput,
  { session, agent, root: entered = root }: CallsOfStep,
  { callKey, callId, args, prepared }: PlannedCall,
): ToolCallInput {
  return {
    v: PROTOCOL_VERSION,
    ...{ session, runKey, agent, traceparent, handedOn: handedOnBy?.length },
    ...{ root: entered, within, branch, path, rootWorkflowId, tracedBelow },
    ...{ callKey, callId, args, prepared },
  };
}

function delayOf(error: unknown): number {
  const delay = error instanceof ApplicationFailure ? error.nextRetryDelay : undefined;
  return typeof delay === 'number' ? delay : NEXT_ATTEMPT;
}
