import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { takeOwnState } from '../src/flows/own-state.ts';
import { TIMEOUT_MARGIN } from '../src/flows/plan-calls.ts';
import { carry } from '../src/flows/size-rule.ts';
import { transcriptView } from '../src/flows/transcript.ts';
import { digestOf } from '../src/protocol/canonical-json.ts';
import type { ToolCallInput, ToolCallResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import type { BegunCall, SettledCall } from '../src/store/store.ts';
import { Unstorable } from '../src/store/store-errors.ts';
import type { BaseTool } from '../src/tools/base-tool.ts';
import { resolveDurableOptions } from '../src/tools/durable-options.ts';
import type { TranscriptView } from '../src/tools/invocation-context.ts';
import { type Attempt, attempt, isLastRefusal } from './attempt.ts';
import { contextInitOf } from './call-context.ts';
import { retryUnlessSpent, type StartedCall } from './call-retry.ts';
import { mayBeElsewhere, notDeployed, ownTool, searchTool } from './call-tool.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf, pluginsOf } from './deployment.ts';
import { type CallOutcome, errorOutcome } from './failed-call.ts';
import { reportUnexpected } from './logging.ts';
import { NotDeployedHere } from './not-deployed-here.ts';
import { OpenCall } from './open-call.ts';
import { CallReport } from './telemetry/call-report.ts';
import { ToolCallbacks } from './tool-callbacks.ts';
import { describeFailure } from './tool-failure.ts';

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
    const call = { input: this.#input, begun, agent, tool, callbacks, init, report };
    return await this.#settle(tool, await new OpenCall(this.#dependencies, this.#current, call).outcome());
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

  #begin(own: BaseTool | undefined): Promise<BegunCall> {
    const { session, runKey, callKey, callId, args, exclusive = false } = this.#input;
    return this.#dependencies.store.beginCall({
      session,
      runKey,
      callKey,
      callId,
      tool: this.#name,
      argsDigest: 'ref' in args ? args.ref.digest : digestOf(args.value),
      wantArgs: 'ref' in args,
      seesSiblings: own === undefined ? exclusive : !own.durable.isConcurrencySafe,
    });
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
  async #hasNotRun({ attempt: number }: StartedCall, thrown: unknown): Promise<void> {
    const { session, callKey } = this.#input;
    const { message: error } = describeFailure(thrown);
    await this.#dependencies.store.recordCallFailure({
      session,
      callKey,
      error,
      counts: false,
      attempt: number,
    });
  }

  async #refused(error: unknown): Promise<ToolCallResult> {
    if (!(error instanceof NotDeployedHere) || !isLastRefusal()) throw error;
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
    let settled: SettledCall;
    try {
      settled = await store.settleCall({ session, callKey, ...outcome });
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      const text = `Error in tool '${this.#name}': its result can't be stored; it has run`;
      settled = await store.settleCall({ session, callKey, ...errorOutcome(new Error(text)) });
    }
    if (settled.first) this.#report?.settled(settled.failed);
    return this.#result(tool, settled, answersError === true);
  }

  #result(
    tool: BaseTool | undefined,
    { response, failed, actions, first = false }: Omit<SettledCall, 'first'> & Partial<SettledCall>,
    answersError = true,
  ): ToolCallResult {
    // Where the tool isn't known, neither is what it keeps to itself: only what was said here can be told.
    const { sensitive } = tool?.durable ?? { sensitive: !first };
    // An error's text may quote any argument, and so may an answer to it. What another attempt has settled may be one.
    const mayQuote = failed || answersError || !first;
    const hidden =
      typeof sensitive === 'boolean'
        ? sensitive
        : (mayQuote && sensitive.length > 0) || sensitive.includes('result');
    return {
      v: PROTOCOL_VERSION,
      response: carry(this.#input.callKey, response, hidden),
      ...(failed ? { failed: true } : {}),
      ...(actions.skipSummarization ? { skipSummarization: true } : {}),
    };
  }

  /** What the schedule gives an attempt, without its margin. */
  #searchTime(): number {
    const { startToCloseTimeoutMs } = activityInfo();
    return Math.max(startToCloseTimeoutMs - TIMEOUT_MARGIN, 1);
  }
}
