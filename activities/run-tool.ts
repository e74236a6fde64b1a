import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { takeOwnState } from '../src/flows/own-state.ts';
import { TIMEOUT_MARGIN } from '../src/flows/plan-calls.ts';
import { transcriptView } from '../src/flows/transcript.ts';
import { digestOf } from '../src/protocol/canonical-json.ts';
import type { ToolCallInput, ToolCallResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { JsonValueError } from '../src/schema/json-value.ts';
import type {
  ApprovalRow,
  BegunAnsweredCall,
  BegunCall,
  CallActions,
  SettledCall,
} from '../src/store/store.ts';
import { Unstorable } from '../src/store/store-errors.ts';
import type { BaseTool } from '../src/tools/base-tool.ts';
import { resolveDurableOptions } from '../src/tools/durable-options.ts';
import type { TranscriptView } from '../src/tools/invocation-context.ts';
import { type Attempt, attempt, isLastRefusal } from './attempt.ts';
import { CallAnswers } from './call-answers.ts';
import { contextInitOf } from './call-context.ts';
import { callResult } from './call-result.ts';
import { hasNotRun, retryUnlessSpent, type StartedCall } from './call-retry.ts';
import { mayBeElsewhere, notDeployed, ownTool, searchTool } from './call-tool.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf, pluginsOf } from './deployment.ts';
import { type CallOutcome, errorOutcome } from './failed-call.ts';
import { reportUnexpected } from './logging.ts';
import { NotDeployedHere } from './not-deployed-here.ts';
import { type AskingRun, OpenCall, plannedArguments } from './open-call.ts';
import { rejection } from './rejection.ts';
import { type CallToSuspend, suspendCall } from './suspend-call.ts';
import { CallReport } from './telemetry/call-report.ts';
import { ToolCallbacks } from './tool-callbacks.ts';
import { AsksTooOften, ToolChanged } from './tool-failure.ts';

/** What a tool that isn't found is tried again like. */
const DEFAULT_OPTIONS = resolveDurableOptions({});

/** The activity of every call: its type is the name of the tool, or of the code executor. */
export function runTool(
  dependencies: ActivityDependencies,
): (input: ToolCallInput) => Promise<ToolCallResult> {
  return (input) => {
    const { callKey, agent } = input;
    const place = { callKey, agent, tool: activityInfo().activityType };
    return attempt(
      (current) => new ToolCall(dependencies, input, current).run(),
      reportUnexpected(dependencies, place),
    );
  };
}

class ToolCall {
  readonly #dependencies: ActivityDependencies;
  readonly #input: ToolCallInput;
  readonly #current: Attempt;
  readonly #name = activityInfo().activityType;
  #report: CallReport | undefined;
  /** What callbacks did when the call was planned: done, whatever becomes of it. */
  #prepared: CallActions = {};
  #requests: readonly ApprovalRow[] = [];

  constructor(dependencies: ActivityDependencies, input: ToolCallInput, current: Attempt) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#current = current;
  }

  async run(): Promise<ToolCallResult> {
    let agent: LlmAgent;
    let own: BaseTool | undefined;
    try {
      agent = agentOf(this.#dependencies.deployment, this.#input.agent);
      own = this.#ownTool(agent);
    } catch (error) {
      return await this.#refused(error);
    }
    const begun = await this.#begin(own);
    if (begun.kind === 'settled') return this.#result(own, begun);
    // It was decided otherwise before, as a workflow that was reset can't know.
    this.#requests = begun.kind === 'closed' ? [begun.request] : 'requests' in begun ? begun.requests : [];
    if (begun.kind === 'closed')
      return await this.#settle(own, { ...rejection(begun.request.reason), actions: {} });
    this.#prepared = begun.prepared ?? {};
    const answers = this.#answers(begun);
    if (answers.refusal !== undefined) {
      return await this.#settle(own, { ...rejection(answers.refusal.reason), actions: {} });
    }
    const { edits, state } = takeOwnState(begun.state);
    const { names, invocationId, userContent } = begun;
    const abortSignal = this.#current.signal;
    const scene = { names, invocationId, userContent, agent, state, abortSignal };
    let tool = own;
    if (tool === undefined || edits.length > 0) {
      try {
        const init = contextInitOf(scene);
        const { deployment } = this.#dependencies;
        const search = { deployment, agent, init, edits, current: this.#current, time: this.#searchTime() };
        tool = await searchTool(search, this.#name, own);
      } catch (error) {
        return await this.#notFound(begun, error);
      }
    }
    const callbacks = this.#callbacks(agent, begun);
    const wantsTranscript = !callbacks.isEmpty || tool.durable.needsTranscript;
    const transcript = wantsTranscript ? await this.#transcript(begun) : undefined;
    const report = new CallReport(this.#dependencies.telemetry, this.#input, tool, begun);
    this.#report = report;
    const init = contextInitOf({ ...scene, transcript });
    const call = { input: this.#input, begun, agent, tool, callbacks, init, answers, report };
    const outcome = await new OpenCall(this.#dependencies, this.#current, call).outcome();
    if (!('asked' in outcome)) return await this.#settle(tool, outcome);
    const n = answers.next;
    if (n === undefined) return await this.#settle(tool, errorOutcome(new AsksTooOften(tool)));
    return await this.#suspend({ ...call, current: this.#current, n }, outcome);
  }

  async #suspend(call: CallToSuspend, asking: AskingRun): Promise<ToolCallResult> {
    try {
      return { v: PROTOCOL_VERSION, asks: await suspendCall(this.#dependencies, call, asking) };
    } catch (error) {
      if (!(error instanceof JsonValueError || error instanceof Unstorable)) throw error;
      return await this.#settle(call.tool, errorOutcome(error));
    }
  }

  #answers(begun: StartedCall): CallAnswers {
    const { callKey, prepared = false } = this.#input;
    const args = plannedArguments(this.#input, begun);
    return new CallAnswers({ callKey, args, prepared, requests: this.#requests });
  }

  /** @throws NotDeployedHere where nobody else can have it either. */
  #ownTool(agent: LlmAgent): BaseTool | undefined {
    const called = { name: this.#name, callId: this.#input.callId };
    const own = ownTool(agent, called);
    if (own === undefined && !mayBeElsewhere(this.#dependencies.deployment, agent, called)) {
      throw notDeployed(agent, this.#name);
    }
    return own;
  }

  #begin(own: BaseTool | undefined): Promise<BegunCall | BegunAnsweredCall> {
    const { session, runKey, callKey, callId, args, exclusive = false, answered } = this.#input;
    const { store } = this.#dependencies;
    const call = {
      session,
      runKey,
      callKey,
      callId,
      tool: this.#name,
      argsDigest: 'ref' in args ? args.ref.digest : digestOf(args.value),
      wantArgs: 'ref' in args,
      seesSiblings: own === undefined ? exclusive : !own.durable.isConcurrencySafe,
    };
    return answered === undefined ? store.beginCall(call) : store.beginAnsweredCall({ ...call, ...answered });
  }

  #callbacks(agent: LlmAgent, { names }: StartedCall): ToolCallbacks {
    if (this.#input.callId === '') return ToolCallbacks.none(agent);
    return new ToolCallbacks(agent, pluginsOf(this.#dependencies.deployment, names.app));
  }

  async #transcript(begun: StartedCall): Promise<TranscriptView> {
    const { store, transcripts } = this.#dependencies;
    const { names, invocationId } = begun;
    try {
      const transcript = await transcripts.current(this.#input.session, names, (after) =>
        store.readEvents({ ...names, after, limit: Number.MAX_SAFE_INTEGER }),
      );
      return transcriptView(transcript, invocationId);
    } catch (error) {
      await this.#hasNotRun(begun, error);
      throw error;
    }
  }

  /** The next attempt finds no unknown outcome. */
  #hasNotRun(begun: StartedCall, thrown: unknown): Promise<void> {
    return hasNotRun(this.#dependencies, { input: this.#input, begun }, thrown);
  }

  async #refused(error: unknown): Promise<ToolCallResult> {
    if (!(error instanceof NotDeployedHere) || !isLastRefusal()) throw error;
    const { session, answered } = this.#input;
    if (answered !== undefined) {
      await this.#dependencies.store.recordEntries({ session, entries: answered.entries });
      return await this.#settle(undefined, errorOutcome(new ToolChanged()));
    }
    return await this.#settle(undefined, errorOutcome(new Error(`${error.message}; it may have run`)));
  }

  async #notFound(begun: StartedCall, error: unknown): Promise<ToolCallResult> {
    const isAborted = this.#current.signal.aborted;
    if (isAborted || error instanceof NotDeployedHere) await this.#hasNotRun(begun, error);
    if (isAborted) throw this.#current.aborted();
    if (error instanceof NotDeployedHere) return await this.#refused(error);
    const call = { input: this.#input, begun, tool: this.#name, durable: DEFAULT_OPTIONS };
    await retryUnlessSpent(this.#dependencies, call, error);
    return await this.#settle(undefined, errorOutcome(error));
  }

  async #settle(
    tool: BaseTool | undefined,
    { answersError, ...outcome }: CallOutcome,
  ): Promise<ToolCallResult> {
    const { store } = this.#dependencies;
    const { session, callKey } = this.#input;
    const isBare = outcome.failed && Object.keys(outcome.actions).length === 0;
    const actions = isBare ? this.#prepared : outcome.actions;
    let settled: SettledCall;
    try {
      settled = await store.settleCall({ session, callKey, ...outcome, actions });
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      const text = `Error in tool '${this.#name}': its result can't be stored; it has run`;
      const failure = { ...errorOutcome(new Error(text)), actions: this.#prepared };
      settled = await store.settleCall({ session, callKey, ...failure });
    }
    if (settled.first) {
      this.#report?.settled(settled.failed);
      this.#dependencies.telemetry.metrics.requestsEnded(this.#requests);
    }
    return this.#result(tool, settled, answersError === true);
  }

  #result(
    tool: BaseTool | undefined,
    settled: Omit<SettledCall, 'first'> & Partial<SettledCall>,
    answersError?: boolean,
  ): ToolCallResult {
    return callResult(this.#input.callKey, tool, settled, answersError);
  }

  /** What the schedule gives an attempt, without its margin. */
  #searchTime(): number {
    const { startToCloseTimeoutMs } = activityInfo();
    return Math.max(startToCloseTimeoutMs - TIMEOUT_MARGIN, 1);
  }
}
