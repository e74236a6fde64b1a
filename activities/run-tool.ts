import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { callActionsOf } from '../src/flows/call-actions.ts';
import { carry } from '../src/flows/size-rule.ts';
import { digestOf } from '../src/protocol/canonical-json.ts';
import { TOOL_FAILED } from '../src/protocol/names.ts';
import type { ToolCallInput, ToolCallResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import type { BegunCall, CallActions, SettleCall, SettledCall } from '../src/store/store.ts';
import { Unstorable } from '../src/store/store-errors.ts';
import type { BaseTool } from '../src/tools/base-tool.ts';
import { Context } from '../src/tools/context.ts';
import { toFunctionResponse } from '../src/tools/function-response.ts';
import { type Attempt, attempt, isLastRefusal, retryLater } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf } from './deployment.ts';
import { callLogger, reportUnexpected } from './logging.ts';
import { NotDeployedHere } from './not-deployed-here.ts';
import { whicheverComesFirst } from './race.ts';
import { CallReport } from './telemetry/call-report.ts';
import { describeFailure, isToolTimeout, storeErrorIn, ToolTimeout } from './tool-failure.ts';

type StartedCall = Extract<BegunCall, { kind: 'started' }>;

const UNKNOWN_OUTCOME = 'outcome unknown: this call may have run; check before repeating it';

/** The activity of every call: its type is the tool's name. */
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
  #report: CallReport | undefined;

  constructor(dependencies: ActivityDependencies, input: ToolCallInput, current: Attempt) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#current = current;
  }

  async run(): Promise<ToolCallResult> {
    const name = activityInfo().activityType;
    let tool: BaseTool;
    try {
      tool = toolOf(agentOf(this.#dependencies.deployment, this.#input.agent), name);
    } catch (error) {
      if (!(error instanceof NotDeployedHere) || !isLastRefusal()) throw error;
      return this.#result(undefined, await this.#settleError(`${error.message}; it may have run`));
    }
    const { session, runKey, callKey, callId, args } = this.#input;
    const begun = await this.#dependencies.store.beginCall({
      session,
      runKey,
      callKey,
      callId,
      tool: name,
      argsDigest: 'ref' in args ? args.ref.digest : digestOf(args.value),
      wantArgs: 'ref' in args,
      seesSiblings: !tool.durable.isConcurrencySafe,
    });
    if (begun.kind === 'settled') return this.#result(tool, begun);
    this.#report = new CallReport(this.#dependencies.telemetry, this.#input, tool, begun);
    if (begun.unknown && tool.durable.onUnknownOutcome === 'fail') {
      return this.#result(tool, await this.#settleError(UNKNOWN_OUTCOME));
    }
    return this.#result(tool, await this.#runOnce(tool, begun));
  }

  async #runOnce(tool: BaseTool, begun: StartedCall): Promise<SettledCall> {
    const timeout = AbortSignal.timeout(tool.durable.timeout);
    const toolContext = this.#contextOf(tool, begun, AbortSignal.any([this.#current.signal, timeout]));
    const { args: carried } = this.#input;
    let response: Record<string, unknown>;
    let actions: CallActions;
    try {
      const args = structuredClone('value' in carried ? carried.value : (begun.args ?? {}));
      const run = () =>
        whicheverComesFirst(tool.runAsync({ args, toolContext }), [
          [this.#current.signal, this.#current.aborted],
          [timeout, () => new ToolTimeout(tool)],
        ]);
      const value = await (this.#report === undefined ? run() : this.#report.running(args, run));
      response = toFunctionResponse(value);
      actions = callActionsOf(toolContext.actions);
    } catch (error) {
      if (this.#current.signal.aborted) throw this.#current.aborted();
      return await this.#fail(tool, begun, error);
    }
    try {
      return await this.#settle({ response, failed: false, actions });
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      return await this.#settleError(`Error in tool '${tool.name}': its result can't be stored; it has run`);
    }
  }

  #contextOf(tool: BaseTool, begun: StartedCall, abortSignal: AbortSignal): Context {
    const conceals = tool.durable.sensitive !== false;
    const { callId, callKey, session, agent } = this.#input;
    const { names, userContent, once } = begun;
    return new Context({
      appName: names.app,
      userId: names.userId,
      sessionId: names.sessionId,
      invocationId: begun.invocationId,
      agentName: agent,
      ...(userContent === undefined ? {} : { userContent }),
      state: begun.state,
      eventActions: createEventActions(),
      abortSignal,
      call: {
        callId,
        callKey,
        attempt: begun.attempt,
        once: {
          get: (key) => once[key],
          put: (key, value) => this.#dependencies.store.recordOnce({ session, callKey, key, value }),
        },
        // Temporal shows the details of a pending activity as they are.
        heartbeat: (details) => this.#current.heartbeat(conceals ? undefined : details),
      },
    });
  }

  async #fail(tool: BaseTool, begun: StartedCall, error: unknown): Promise<SettledCall> {
    const storeError = storeErrorIn(error);
    if (storeError !== undefined) throw storeError;
    const { durable, name } = tool;
    const late = isToolTimeout(error);
    this.#report?.failed(late ? 'timeout' : TOOL_FAILED);
    if (late && durable.onUnknownOutcome === 'fail') return await this.#settleError(UNKNOWN_OUTCOME);
    const { message, stack, retryable } = describeFailure(error);
    if (retryable) {
      const { store, conceal } = this.#dependencies;
      const { session, callKey, agent } = this.#input;
      const failures = await store.recordCallFailure({
        session,
        callKey,
        error: message,
        attempt: begun.attempt,
      });
      const hidden = conceal || durable.sensitive !== false;
      const { app, sessionId } = begun.names;
      const { invocationId } = begun;
      const place = { app, sessionId, invocationId, callKey, agent, tool: name };
      callLogger(this.#dependencies, place).warn(hidden ? `tool ${name} failed` : message, {
        failures,
        ...(hidden || stack === undefined ? {} : { stack }),
      });
      if (failures < durable.retry.maximumAttempts) {
        throw retryLater(TOOL_FAILED, hidden ? `Error in tool '${name}'` : message, {
          delay: delayOf(tool, begun.failures),
        });
      }
    }
    return await this.#settleError(message, stack);
  }

  #settleError(error: string, stack?: string): Promise<SettledCall> {
    return this.#settle({ response: { error }, failed: true, actions: {}, ...(stack ? { stack } : {}) });
  }

  async #settle(outcome: Omit<SettleCall, 'session' | 'callKey'>): Promise<SettledCall> {
    const { session, callKey } = this.#input;
    const settled = await this.#dependencies.store.settleCall({ session, callKey, ...outcome });
    if (settled.first) this.#report?.settled(settled.failed);
    return settled;
  }

  #result(
    tool: BaseTool | undefined,
    { response, failed, actions }: Pick<SettledCall, 'response' | 'failed' | 'actions'>,
  ): ToolCallResult {
    const { sensitive } = tool?.durable ?? { sensitive: false };
    // An error's text may quote any argument.
    const hidden = typeof sensitive === 'boolean' ? sensitive : failed || sensitive.includes('result');
    return {
      v: PROTOCOL_VERSION,
      response: carry(this.#input.callKey, response, hidden),
      ...(failed ? { failed: true } : {}),
      ...(actions.skipSummarization ? { skipSummarization: true } : {}),
    };
  }
}

function toolOf(agent: LlmAgent, name: string): BaseTool {
  const tool = agent.tools.find((candidate) => candidate.name === name);
  if (tool !== undefined) return tool;
  const known = agent.tools.map((candidate) => candidate.name);
  throw new NotDeployedHere('tool', name, known);
}

function delayOf({ durable: { retry } }: BaseTool, failures: number): number {
  return Math.min(retry.initialInterval * retry.backoffCoefficient ** failures, retry.maximumInterval);
}
