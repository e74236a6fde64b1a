import { activityInfo } from '@temporalio/activity';
import { CallbackFailed } from '../../src/agents/callbacks.ts';
import type { FunctionCallOfStep } from '../../src/flows/plan-calls.ts';
import type { PreparedCalls } from '../../src/flows/step-response.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { callKeyOf, stepKeyOf } from '../../src/protocol/identity.ts';
import { defined, isRecord } from '../../src/protocol/json.ts';
import { toJsonValue } from '../../src/schema/json-value.ts';
import type { NewRequest } from '../../src/store/approvals/approval-store.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import { agentOfTool, type BaseTool } from '../../src/tools/base-tool.ts';
import { questionsOf } from '../../src/tools/context.ts';
import type { CallInit } from '../../src/tools/invocation-context.ts';
import { stateWith } from '../../src/tools/readonly-context.ts';
import { InvalidResultError, ToolError } from '../../src/tools/tool-error.ts';
import { defaultHint, type Question, questionOf } from '../../src/tools/tool-gate.ts';
import { logFailed } from '../model/step-failures.ts';
import type { ModelStepParts } from '../model/step-parts.ts';
import { callContext, contextInitOf, effectsOf } from '../tool/call-context.ts';
import { type CallOutcome, errorOutcome, markOf, outcomeOfFailure } from '../tool/settle-call.ts';
import { type CalledTool, ToolCallbacks } from '../tool/tool-callbacks.ts';
import { hidesTexts, storeErrorIn } from '../tool/tool-failure.ts';
import { gateOf, newRequest } from './request.ts';

/** Calls that wait for people, and those that the workflow runs itself, are asked about when they are planned. */
function isPrepared(tool: BaseTool): boolean {
  return tool.gate !== undefined || agentOfTool(tool) !== undefined;
}

/** Whether user code is asked about calls before they are planned. */
export function mayWait(tools: ReadonlyMap<string, BaseTool>): boolean {
  return [...tools.values()].some(isPrepared);
}

/**
 * Asks callbacks, and then the tool, about each call whose tool may have to wait for people: so the person sees the arguments that
 * will run. A failure keeps its call from running, and is the call's answer. @google/adk 2.0.0 asks callbacks again after the
 * approval, which may then run other arguments than those approved.
 *
 * @throws the error that ends the attempt, and StoreError.
 */
export async function prepareCalls(
  step: ModelStepParts,
  tools: ReadonlyMap<string, BaseTool>,
  calls: readonly FunctionCallOfStep[],
): Promise<PreparedCalls> {
  const preparation = new Preparation(step);
  const requests = new Map<string, NewRequest>();
  const prepared: FunctionCallOfStep[] = [];
  step.time.renew();
  for (const [index, call] of calls.entries()) {
    const tool = call.callId === '' || call.response !== undefined ? undefined : tools.get(call.name);
    if (tool === undefined || !isPrepared(tool)) {
      prepared.push(call);
      continue;
    }
    const callKey = callKeyOf(step.asked.runKey, step.asked.step, index);
    const { request, ...ready } = await preparation.of({ ...call, callKey, tool });
    prepared.push(ready);
    if (request !== undefined) requests.set(callKey, request);
  }
  return { calls: prepared, requests };
}

type GatedCall = FunctionCallOfStep & { callKey: string; tool: BaseTool };
type ReadyCall = FunctionCallOfStep & { request?: NewRequest };

class Preparation {
  readonly #step: ModelStepParts;
  readonly #callbacks: ToolCallbacks;

  constructor(step: ModelStepParts) {
    this.#step = step;
    this.#callbacks = new ToolCallbacks(step.agent, step.plugins);
  }

  async of(call: GatedCall): Promise<ReadyCall> {
    const { callId, name, tool } = call;
    const called = this.#called(call);
    const mark = markOf(this.#step.settings.markUntrusted ? tool : undefined);
    let answer: Record<string, unknown> | undefined;
    let question: Question | undefined;
    let args: Record<string, unknown>;
    let actions: CallActions;
    try {
      if (this.#callbacks.has('beforeToolCallback')) {
        answer = await this.#inTime('beforeToolCallback', this.#callbacks.before(called), tool);
      }
      const own = askedBefore(called);
      if (own === undefined && answer !== undefined) {
        return { callId, name, args: call.args, ...answeredBy(await this.#after(called, answer), mark) };
      }
      args = argumentsOf(called);
      await this.#inTime('parameters', tool.checkArguments(args), tool);
      const asked = await this.#inTime('requireConfirmation', questionOf(tool, args, called.context), tool);
      // One approval is enough, of those who may approve what the tool would have asked.
      question =
        own === undefined || asked?.terms === undefined ? (own ?? asked) : { ...own, terms: asked.terms };
      actions = effectsOf(called.context);
    } catch (error) {
      return { callId, name, args: call.args, ...answeredBy(await this.#failed(called, error), mark) };
    }
    const ready: ReadyCall = {
      callId,
      name,
      args,
      prepared: true,
      ...(Object.keys(actions).length === 0 ? {} : { actions }),
    };
    if (question === undefined) return ready;
    const request = this.#request(call, args, question);
    return { ...ready, gate: gateOf(request, tool, this.#step.settings), request };
  }

  #called({ callId, callKey, args: given, tool }: GatedCall): CalledTool {
    const { agent, context, contextInit, time } = this.#step;
    const { names, invocationId, userContent, transcript, services } = contextInit;
    const state = stateWith(context.init.state, context.actions);
    const init = contextInitOf({
      ...{ names, invocationId, userContent, agent, state, transcript, services },
      abortSignal: time.signal,
    });
    const args = structuredClone(given);
    return { tool, args, context: callContext(init, this.#callInit(callKey, callId, given), time.signal) };
  }

  /** The call has no row of its own yet, and another attempt's model may call something else in its place. */
  #callInit(callKey: string, callId: string, args: Record<string, unknown>): CallInit {
    const { dependencies, opened, asked } = this.#step;
    const keyOf = (key: string) => digestOf([callKey, callId, args, key]);
    return {
      callId,
      callKey,
      session: opened.session,
      attempt: 1,
      once: {
        get: (key) => opened.once[keyOf(key)],
        put: async (key, value) =>
          await dependencies.store.turns.recordOnce({
            session: opened.session,
            callKey: stepKeyOf(asked.runKey, asked.step),
            key: keyOf(key),
            value,
          }),
      },
      heartbeat: () => undefined,
    };
  }

  #request(
    { callKey, callId, tool }: GatedCall,
    args: Record<string, unknown>,
    question: Question,
  ): NewRequest {
    const { agent, input } = this.#step;
    const workflowId = input.workflowId ?? activityInfo().workflowExecution?.workflowId ?? '';
    const call = { callKey, callId, agent, tool, args, workflowId, acting: input };
    return newRequest(call, 1, { kind: 'confirmation', ...question });
  }

  async #after(called: CalledTool, answer: Record<string, unknown>): Promise<CallOutcome> {
    const { tool, context } = called;
    const after = this.#callbacks.has('afterToolCallback')
      ? await this.#inTime('afterToolCallback', this.#callbacks.after(called, answer), tool)
      : { response: answer };
    return { response: after.response, failed: false, actions: effectsOf(context) };
  }

  async #failed(call: CalledTool, thrown: unknown): Promise<CallOutcome> {
    const { agent, time } = this.#step;
    const storeError = storeErrorIn(thrown);
    if (storeError !== undefined) throw storeError;
    if (time.isOver) throw thrown;
    if (!hidesTexts(this.#step.dependencies, call.tool.durable)) logFailed(this.#step, thrown);
    const failed = outcomeOfFailure(this.#callbacks, { call, thrown, time: agent.durable.modelTimeout });
    try {
      return await this.#inTime('onToolErrorCallback', failed, call.tool);
    } catch (error) {
      if (time.isOver || storeErrorIn(error) !== undefined) throw error;
      return errorOutcome(thrown);
    }
  }

  #inTime<T>(what: string, work: Promise<T>, tool: BaseTool): Promise<T> {
    const { agent, time } = this.#step;
    return time.race(work, (problem) => {
      const isCallback = what.endsWith('Callback');
      if (isCallback) {
        return new CallbackFailed({ agent: agent.name, callback: what, problem, retryable: false });
      }
      const text = `Error in tool '${tool.name}': ${what}: ${problem}`;
      return new ToolError(text, { code: 'HOLDFAST_GATE_FAILED', retryable: false });
    });
  }
}

function answeredBy(
  { response, actions: own }: CallOutcome,
  mark: CallActions,
): Pick<FunctionCallOfStep, 'response' | 'actions'> {
  const actions = { ...own, ...mark };
  return { response, ...(Object.keys(actions).length === 0 ? {} : { actions }) };
}

/** The question that callbacks have asked a person. An answer of the callbacks only says that they have asked. */
function askedBefore({ tool, context }: CalledTool): Question | undefined {
  const asked = questionsOf(context).asked;
  if (asked === undefined) return undefined;
  if (asked.kind !== 'confirmation') {
    const text = `Error in tool '${tool.name}': beforeToolCallback: of a tool with a gate it can only ask for a confirmation`;
    throw new ToolError(text, { code: 'HOLDFAST_GATE_FAILED', retryable: false });
  }
  const { hint, payload } = asked;
  return { hint: hint || defaultHint(tool.name), ...defined({ payload }) };
}

/** As callbacks have left them: they are shown to people, stored, and run in another process. */
function argumentsOf({ tool, args }: CalledTool): Record<string, unknown> {
  const json: unknown = toJsonValue(args);
  if (isRecord(json)) return asStored(json);
  throw new InvalidResultError(`Error in tool '${tool.name}': callbacks must leave the arguments an object`);
}
