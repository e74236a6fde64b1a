import { CallbackFailed, callbackThrew } from '../../src/agents/callbacks.ts';
import { answeredBy } from '../../src/agents/routed-llm.ts';
import { isBuiltInCodeExecutor } from '../../src/code-executors/built-in-code-executor.ts';
import { hasFailedTooOften } from '../../src/code-executors/code-parts.ts';
import { hasCode } from '../../src/contract/error.ts';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import { isCompactedEvent } from '../../src/events/compacted-event.ts';
import type { EventActions } from '../../src/events/event-actions.ts';
import { eventActionsOf } from '../../src/flows/call-actions.ts';
import { draftFromError, draftOfEnd, type StepDraft } from '../../src/flows/step-draft.ts';
import { draftFromResponse, type GivenResponse } from '../../src/flows/step-response.ts';
import { addUsage, NO_USAGE, ONE_CALL, usageOf } from '../../src/flows/step-usage.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { isRecord } from '../../src/protocol/json.ts';
import { CONFIRM_TOOL } from '../../src/protocol/names.ts';
import type { ToolEdit } from '../../src/protocol/run-terms.ts';
import { kindOf } from '../../src/schema/kind-of.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { NewEvent } from '../../src/store/turns/step-store.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';
import { askingTool, isConfirmAgent } from '../approvals/confirm-agent.ts';
import { mayWait, prepareCalls } from '../approvals/gate-calls.ts';
import { callLogger } from '../logging.ts';
import { AnswerLost, type ModelAnswer, ModelCallbacks, ModelExchange } from './ask-model.ts';
import {
  checkRateLimit,
  hasAnswered,
  ModelRateLimited,
  rateLimitedStep,
  sharedKeyOf,
  sharedLimit,
} from './limits.ts';
import { failureOf, logFailed, outageIn, retriedUnlessLast, turnErrorOf } from './step-failures.ts';
import type { ModelStepParts } from './step-parts.ts';

/**
 * The draft of a step from the model's answer or failure.
 *
 * @param before the step's events until then.
 * @throws an error after which the step is tried again.
 */
export async function draftFromModel(step: ModelStepParts, before: NewEvent[]): Promise<StepDraft> {
  const callbacks = callbacksOf(step);
  const exchange = exchangeOf(step, callbacks);
  try {
    // Readers of requests may answer them in the model's place.
    if (!callbacks.seeRequests && step.input.ownCall === undefined)
      checkRateLimit(step.rateLimited, sharedKeyOf(step.agent.canonicalModel));
    return await draftFromAnswer(step, before, await exchange.answer(), { isAsked: exchange.asked });
  } catch (error) {
    if (step.current.signal.aborted) throw step.current.aborted();
    return await draftFromFailure(step, before, error, exchange);
  }
}

function callbacksOf({ code, context }: ModelStepParts): ModelCallbacks {
  return new ModelCallbacks(code, () => context.shared());
}

function exchangeOf(step: ModelStepParts, callbacks: ModelCallbacks): ModelExchange {
  const { agent, context, live, opened, plugins, report, rateLimited, settings, time, toolEdits } = step;
  const stream = step.runConfig.streamingMode === 'sse';
  const followed = stream && !agent.durable.sensitive;
  return new ModelExchange({
    site: {
      agent,
      init: context.init,
      plugins,
      toolFactories: settings.toolFactories,
      toolEdits,
      markUntrusted: settings.markUntrusted,
      warn: (message) => {
        const { dependencies, place } = step;
        const text = dependencies.conceal ? 'an optional toolset has failed' : message;
        callLogger(dependencies, { ...place, agent: agent.name }).warn(text);
      },
    },
    callbacks,
    time,
    stream,
    ownCall: step.input.ownCall,
    onPartial: followed ? (response) => live.add(agent.name, response) : undefined,
    async asking(request, ask) {
      const key = sharedKeyOf(agent.canonicalModel, request.model);
      checkRateLimit(rateLimited, key);
      const response = await report.asking(agent, opened, step.transcript, ask);
      hasAnswered(step, key);
      return response;
    },
  });
}

/** @param how `isAsked`: a model has answered, or has failed, for which the turn pays. */
async function draftFromAnswer(
  step: ModelStepParts,
  before: NewEvent[],
  { response, events, built }: ModelAnswer,
  { isAsked }: { isAsked: boolean },
): Promise<StepDraft> {
  const { asked, agent, context, opened, report, runConfig, time, transcript } = step;
  const own = [...before, ...events.map(callbackEvent)];
  if (response === undefined) return { ...draftOfEnd(asked, own), cut: 'agent' };
  const answered = isAsked ? usageIn(step, response, built.request.model) : NO_USAGE;
  const usage = addUsage(answered, usageOfSummaries(step, events));
  const tools = new Map(Object.entries(built.request.toolsDict));
  if (isConfirmAgent(agent.name)) tools.set(CONFIRM_TOOL, askingTool(step.input.ownCall?.question));
  try {
    const draft = draftFromResponse(
      asked,
      agent,
      {
        response,
        usage,
        events: own,
        actions: () => (context.hasActed ? eventActionsOf(context.actions) : undefined),
        tools,
        codeExecutor: codeExecutorOf(step),
        asksPeople: !step.begins.isRoot,
        toolEdits: changedEdits(step.toolEdits, built.toolEdits()),
        pauses: runConfig.pauseOnToolCalls === true,
        chains: (agent.durable.steps ?? step.settings.steps) === 'chain',
        prepare: mayWait(tools) ? (calls) => prepareCalls(step, tools, calls) : undefined,
        planned: plannerOf(step),
      },
      transcript.callIds,
    );
    // A schema may have checks of its own that never come to an end.
    if (agent.outputSchema === undefined) return await draft;
    return await time.race(draft, (problem) => new Error(`outputSchema: ${problem}`));
  } catch (error) {
    if (time.isOver) throw error;
    const outage = outageIn(error);
    if (outage !== undefined) throw outage;
    // Asking again would be paid again, for an answer of the same kind.
    const failure = unusable(step, error);
    report.failed(opened, asked, failure.code);
    return draftFromError(asked, failure, { usage, events: own });
  }
}

function unusable({ agent }: ModelStepParts, error: unknown): { code: string; message: string } {
  if (error instanceof CallbackFailed) return error;
  if (error instanceof InvalidResultError) return callbackThrew(agent.name, 'a callback', error);
  return {
    code: 'HOLDFAST_MODEL_RESPONSE',
    message: `the model's response can't be used: ${thrownMessage(error)}`,
  };
}

function plannerOf({ agent, context }: ModelStepParts): GivenResponse['planned'] {
  const { planner } = agent;
  if (planner === undefined) return undefined;
  return (parts) => {
    try {
      const planned: unknown = planner.processPlanningResponse(context.shared(), parts);
      if (planned === undefined || planned === null) return undefined;
      if (Array.isArray(planned) && planned.every(isRecord)) return planned;
      const got = planned instanceof Promise ? 'a promise' : kindOf(planned);
      throw new TypeError(
        `processPlanningResponse must return a list of parts or undefined, returned ${got}`,
      );
    } catch (error) {
      throw callbackThrew(agent.name, 'planner', error);
    }
  };
}

/** The last failure that counts ends the turn, its events kept, unless an error callback has an answer. */
async function draftFromFailure(
  step: ModelStepParts,
  before: NewEvent[],
  error: unknown,
  exchange: ModelExchange,
): Promise<StepDraft> {
  const { asked, opened, report } = step;
  const summaries = usageOfSummaries(step, exchange.events);
  if (error instanceof AnswerLost) return lost(step, before, error, summaries);
  // An outage counts as no failure of the model or of user code.
  const outage = outageIn(error);
  if (outage !== undefined) throw outage;
  if (error instanceof ModelRateLimited) throw await rateLimitedStep(step, error);
  if (hasCode(error, 'HOLDFAST_BUDGET_EXCEEDED')) {
    const own = exchange.asked ? ONE_CALL : NO_USAGE;
    return draftFromError(asked, error, { usage: addUsage(own, summaries), events: before });
  }
  const failure = failureOf(error, exchange.asked);
  const usage = addUsage({ ...ONE_CALL, modelCalls: failure.modelCalls }, summaries);
  report.failed(opened, asked, failure.code);
  const key = sharedKeyOf(step.agent.canonicalModel, exchange.request?.model);
  await retriedUnlessLast(step, await sharedLimit(step, key, failure));
  if (failure.error !== undefined) {
    // Text that one model has begun is no part of another one's answer.
    step.live.drop();
    try {
      const answer = await exchange.recovered(failure.error);
      if (answer !== undefined) return await draftFromAnswer(step, before, answer, { isAsked: true });
    } catch (thrown) {
      if (step.time.isOver) throw thrown;
      if (thrown instanceof AnswerLost) return lost(step, before, thrown, summaries);
      const told = turnErrorOf(thrown);
      const message = `${told.message} (asked about: ${failure.message})`;
      return draftFromError(asked, { ...told, message }, { usage, events: before, ...actedBy(step) });
    }
  }
  return draftFromError(asked, failure, { usage, events: before, ...actedBy(step) });
}

/** User code has failed after an answer, which counts as used. */
function lost(step: ModelStepParts, before: NewEvent[], error: AnswerLost, summaries: TurnUsage): StepDraft {
  const { asked, opened, report } = step;
  report.failed(opened, asked, error.code);
  logFailed(step, error);
  const usage = addUsage(usageIn(step, error.response, asked.model), summaries);
  return draftFromError(asked, error, { usage, events: before, ...actedBy(step) });
}

/** Actions that callbacks have written into the model's event, for the error's event. */
function actedBy(step: ModelStepParts): { actions?: EventActions } {
  const { context } = step;
  if (!context.hasActed) return {};
  try {
    return { actions: eventActionsOf(context.actions) };
  } catch (error) {
    logFailed(step, error);
    return {};
  }
}

/** A routed model's answer has the price of the model that gave it. */
function usageIn({ agent, asked }: ModelStepParts, response: LlmResponse, model = asked.model): TurnUsage {
  const answered = answeredBy(agent.canonicalModel, response) ?? model;
  return usageOf(response, { prices: asked.prices, model: answered });
}

/** Of models that have summarised earlier events for this step. */
function usageOfSummaries(step: ModelStepParts, events: readonly DraftEvent[]): TurnUsage {
  return events
    .filter(({ usageMetadata, ...event }) => isCompactedEvent(event) && usageMetadata !== undefined)
    .map((event) => usageIn(step, event, event.modelVersion))
    .reduce(addUsage, NO_USAGE);
}

function codeExecutorOf({ agent, input, transcript }: ModelStepParts) {
  const { codeExecutor } = agent;
  if (codeExecutor === undefined || isBuiltInCodeExecutor(codeExecutor)) return undefined;
  const calls = transcript.toolCalls(input.invocationId);
  return hasFailedTooOften(codeExecutor, calls) ? undefined : codeExecutor;
}

/** Undefined where the step has changed nothing: what is kept is kept on. */
function changedEdits(known: readonly ToolEdit[], now: readonly ToolEdit[]): readonly ToolEdit[] | undefined {
  if (now.length === 0 && known.length === 0) return undefined;
  return canonicalJson(now) === canonicalJson(known) ? undefined : now;
}

function callbackEvent(event: DraftEvent): NewEvent {
  return { kind: 'callback', event };
}
