import { activityInfo, asyncLocalStorage, CancelledFailure, Context } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { type CallsOfStep, callInput } from '../../src/protocol/call-input.ts';
import { defined } from '../../src/protocol/json.ts';
import { CANCELLED_CALLS_QUERY, INLINE_CALLS, TOOL_FAILED } from '../../src/protocol/names.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type {
  CallModelInput,
  InlineCallsTold,
  InlineResult,
  PlannedCall,
  ToolCallInput,
} from '../../src/protocol/step.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { type CallPlace, callLogger } from '../logging.ts';
import { runTool } from './call.ts';

/** Milliseconds between two heartbeats that name the calls, and two questions which of them were cancelled. */
const INTERVAL = 400;

/** Milliseconds after which the workflow is told of a call. */
const LONG = 300;

/** Milliseconds between two signals of which the second says only that some of the calls have ended, or at which step a chain is. */
const BETWEEN_ENDINGS = 3_000;

/** Milliseconds until the workflow must have answered. */
const PATIENCE = 3_000;

/** Milliseconds until the next attempt where a failure says nothing: as between attempts of an activity. */
const NEXT_ATTEMPT = 1_000;

const CANCELLED = new CancelledFailure('CANCELLED');
const CANCELLED_CALL: InlineResult = { v: PROTOCOL_VERSION, cancelled: true };

function goesOn(after = 0, spent = 0, error?: string): InlineResult {
  return { v: PROTOCOL_VERSION, goesOn: { after, spent: Math.round(spent), ...defined({ error }) } };
}

/**
 * The calls of a step that its own activity runs: those before one that runs alone. Calls that wait for a person, and agents, are
 * the workflow's.
 */
export function callsRunInline({ calls, schedules }: CallsOfStep): PlannedCall[] {
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
  /** As its tool has told them last, for people. */
  details?: unknown;
  cancel: AbortController;
}

/** Calls that run in the activity of their steps, with the rows of the ledger that they have as activities. */
export class InlineCalls {
  readonly #activity: StepActivity;
  #step = 0;
  #calls = new Map<string, RunningCall>();
  #ticking: NodeJS.Timeout | undefined;
  /** Keys of the calls that the workflow knows of; undefined while a signal is under way, and after one that has failed. */
  #told: ReadonlySet<string> | undefined = new Set();
  #toldAt = performance.now();
  #toldStep = 0;
  #isAsking = false;
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
    this.#toldStep ||= input.step;
    this.#calls = new Map(
      calls.map(({ callKey, callId, tool }) => [
        callKey,
        { callKey, callId, tool, state: 'waits', since: Date.now(), cancel: new AbortController() },
      ]),
    );
    if (calls.length === 0) return {};
    this.#ticking ??= setInterval(() => void this.#tick(), INTERVAL).unref();
    // Somebody may have cancelled a call of an earlier attempt.
    if (activityInfo().attempt > 1) await this.#cancel();
    const results: Record<string, InlineResult> = {};
    const left = calls.values();
    const { session, agent, root = input.root } = outcome;
    const place = { ...input, session, agent, root, handedOn: input.handedOnBy?.length };
    const runNext = async () => {
      for (const call of left) results[call.callKey] = await this.#run(callInput(call, place), outcome, call);
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
    const mayBeCancelled = this.#told === undefined || this.#told.has(call.callKey);
    if (mayBeCancelled && !current.signal.aborted) await this.#cancel();
    if (running.cancel.signal.aborted) return CANCELLED_CALL;
    // It has not begun, which another attempt at the step finds in the ledger.
    if (current.signal.aborted || (await this.#hasKilled(input))) return goesOn();
    const schedule = outcome.schedules[call.tool] as ToolSchedule;
    const began = performance.now();
    const own = attemptOf(current, running, began + schedule.startToClose);
    running.state = 'running';
    running.since = Date.now();
    try {
      const result = await asyncLocalStorage.run(contextOf(call, schedule), () =>
        runTool(dependencies, input, own),
      );
      if ('asks' in result || ('response' in result && !('ended' in result))) return result;
      return goesOn(0, performance.now() - began);
    } catch (error) {
      if (running.cancel.signal.aborted) return CANCELLED_CALL;
      if (!current.signal.aborted)
        this.#log(call).debug('a call goes on as an activity of its own', this.#problem(error));
      return goesOn(delayOf(error), performance.now() - began, toolErrorOf(error));
    } finally {
      running.state = 'ended';
    }
  }

  /** An attempt at the call was lost with its worker: as an activity it has its total timeout, after which it kills no other one. */
  async #hasKilled({ session, callKey }: ToolCallInput): Promise<boolean> {
    if (activityInfo().attempt === 1) return false;
    const { store } = this.#activity.dependencies;
    const call = await store.turns.findCall({ session, callKey });
    return call !== undefined && !call.settled && call.unknown;
  }

  /** The heartbeat shows operators the calls. Calls that take a while are told to the workflow, so that they can be cancelled. */
  async #tick(): Promise<void> {
    const calls = [...this.#calls.values()];
    const shown = calls.map(({ callKey, tool, state, since, details }) => ({
      ...{ callKey, tool, state, since: new Date(since).toISOString() },
      ...defined({ details }),
    }));
    this.#activity.current.heartbeat({ step: this.#step, calls: shown });
    const open = calls.filter(({ state }) => state !== 'ended');
    const long = open.filter(({ state, since }) => state === 'running' && Date.now() - since >= LONG);
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      if (this.#isNews(open, long)) await this.#tell(open);
      if (long.length > 0) await this.#cancel();
    } catch (error) {
      this.#warn(error);
    } finally {
      this.#isAsking = false;
    }
  }

  #isNews(open: readonly RunningCall[], long: readonly RunningCall[]): boolean {
    const told = this.#told;
    if (told === undefined || long.some(({ callKey }) => !told.has(callKey))) return true;
    const left = open.filter(({ callKey }) => told.has(callKey)).length;
    if (left === told.size && this.#step === this.#toldStep) return false;
    return (told.size > 0 && left === 0) || performance.now() - this.#toldAt >= BETWEEN_ENDINGS;
  }

  async #tell(open: readonly RunningCall[]): Promise<void> {
    this.#told = undefined;
    const calls = open.map(({ callKey, callId, tool, since }) => ({ callKey, callId, tool, since }));
    // The model is asked for the next step.
    const step = open.length === 0 ? this.#step + 1 : this.#step;
    await this.#briefly((workflow) => workflow.signal<[InlineCallsTold]>(INLINE_CALLS, { step, calls }));
    this.#told = new Set(calls.map(({ callKey }) => callKey));
    this.#toldStep = this.#step;
    this.#toldAt = performance.now();
  }

  /** Ends calls that somebody has cancelled. Without an answer all go on. */
  async #cancel(): Promise<void> {
    try {
      const cancelled = await this.#briefly((workflow) => workflow.query<unknown>(CANCELLED_CALLS_QUERY));
      if (!Array.isArray(cancelled)) return;
      for (const callKey of cancelled) this.#calls.get(callKey)?.cancel.abort(CANCELLED);
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    if (this.#hasWarned || this.#ticking === undefined) return;
    this.#hasWarned = true;
    this.#log().warn(
      'the workflow and the calls of its step do not hear of each other',
      this.#problem(error),
    );
  }

  /** A worker that shuts down, or has no other one that runs workflows, waits for no answer. */
  async #briefly<Answer>(ask: (workflow: WorkflowHandle) => Promise<Answer>): Promise<Answer | undefined> {
    const { workflowExecution } = Context.current().info;
    if (workflowExecution === undefined) return undefined;
    const { dependencies, current } = this.#activity;
    const client = dependencies.temporal();
    const workflow = client.workflow.getHandle(workflowExecution.workflowId, workflowExecution.runId);
    return await client.withAbortSignal(current.signal, () =>
      client.withDeadline(Date.now() + PATIENCE, () => ask(workflow)),
    );
  }

  #log(call?: PlannedCall) {
    const { dependencies, place } = this.#activity;
    return callLogger(dependencies, { ...place, ...defined({ callKey: call?.callKey, tool: call?.tool }) });
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
    heartbeat(details) {
      running.details = details;
    },
    timeLeft: () => Math.min(ends - performance.now(), current.timeLeft()),
  };
}

/** Code of the user's sees the activity that the call would be. */
function contextOf({ callKey, tool }: PlannedCall, { startToClose }: ToolSchedule): Context {
  const context = Context.current();
  const info = {
    ...context.info,
    ...{ activityType: tool, activityId: callKey, startToCloseTimeoutMs: startToClose },
    // A step that waited for others has had attempts in which no call began.
    ...{ attempt: 1, heartbeatDetails: undefined },
  };
  return Object.create(context, { info: { value: info } });
}

function delayOf(error: unknown): number {
  const delay = error instanceof ApplicationFailure ? error.nextRetryDelay : undefined;
  return typeof delay === 'number' ? delay : NEXT_ATTEMPT;
}

/** The error that the model gets of a tool that has failed. */
function toolErrorOf(error: unknown): string | undefined {
  return error instanceof ApplicationFailure && error.type === TOOL_FAILED ? error.message : undefined;
}
