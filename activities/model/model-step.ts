import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import { answeringModels } from '../../src/agents/routed-llm.ts';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import {
  exceededAbove,
  exceededBudget,
  exceededIterations,
  exceededLlmCalls,
  exceededRunBudget,
  missingPrice,
} from '../../src/flows/budgets.ts';
import {
  draftFromError,
  draftOfEnd,
  hasNextStep,
  recordOf,
  type StepDraft,
  type StepResponse,
  textOfEvents,
} from '../../src/flows/step-draft.ts';
import type { PluginFailed } from '../../src/plugins/plugin-failed.ts';
import { runKeyOfCallKey, stepKeyOf } from '../../src/protocol/identity.ts';
import type { TurnError } from '../../src/protocol/turn.ts';
import type { NewEvent } from '../../src/store/turns/step-store.ts';
import { draftFromCustomAgent } from '../children/custom-agent-step.ts';
import { depthError, draftFromPlan } from '../children/workflow-agents.ts';
import { draftFromModel } from './model-answer.ts';
import {
  type Beginning,
  beginAgent,
  beginRun,
  hasBeginning,
  NO_BEGINNING,
  reportCompletedCalls,
} from './step-beginning.ts';
import { hasEnding, outputOf, StepEnding } from './step-ending.ts';
import { failedUserCode, logFailed } from './step-failures.ts';
import {
  type GivenStep,
  isModelStep,
  type ModelStepParts,
  type OpenStep,
  type StepParts,
  stepParts,
} from './step-parts.ts';
import { StepTime } from './user-code.ts';

/** Under which a step's ledger row keeps what was said before its model was asked. */
const BEGUN = 'begun';

/** On the event of an input that plugins could not be asked about. */
const UNSEEN: PluginFailed['code'] = 'HOLDFAST_PLUGIN_FAILED';

/**
 * The outcome of an opened model step: answers of user code before it, the model's answer, and user code after that. A plain agent,
 * without plugins and callbacks, asks only its model.
 *
 * @throws an error after which the step is tried again.
 */
export async function responseOf(given: GivenStep): Promise<StepResponse> {
  const step = stepParts(given);
  try {
    const draft = await draftOf(step);
    const hasHooks = hasEnding({ ...step, ...step.begins }, step.plugins, !hasNextStep(draft));
    const response = await recorded(step, hasHooks ? await heard(step, draft) : draft);
    const { saved } = step.artifacts;
    return saved.length === 0 ? response : { ...response, artifacts: saved };
  } catch (error) {
    if (step.current.signal.aborted) throw step.current.aborted();
    throw error;
  } finally {
    step.time.close();
  }
}

async function draftOf(step: StepParts): Promise<StepDraft> {
  const { asked, agent, opened, plugins, transcript } = step;
  const refused = refusedInput(step) ?? misplacedCall(step);
  if (refused !== undefined) return { ...draftFromError(asked, refused), cut: 'run' };
  let begun: Beginning = NO_BEGINNING;
  try {
    // Recorded events count, also where a deploy has removed the code that made them.
    if (BEGUN in opened.once || hasBeginning(agent, plugins, step.begins)) begun = await begin(step);
  } catch (error) {
    return { ...draftFromError(asked, await failedUserCode(step, error)), cut: 'agent' };
  }
  const events = begun.events.map((event): NewEvent => ({ kind: 'callback', event }));
  if (begun.end !== undefined) return { ...draftOfEnd(asked, events), cut: begun.end };
  if (step.hasEnded) return { ...draftOfEnd(asked, events), cut: 'agent' };
  const { last } = transcript;
  const isOwn = last?.runKey === asked.runKey || (step.begins.isRoot && step.input.ran === undefined);
  const isSettled = last?.kind === 'responses' && last.event.invocationId === asked.invocationId && isOwn;
  // It was settled by an attempt that nobody heard of. The agent that the turn is transferred to has a word all the same.
  const { skipSummarization, transferToAgent } = last?.event.actions ?? {};
  if (isSettled && skipSummarization && !transferToAgent) return draftOfEnd(asked, events);
  const refusal = depthError(step) ?? usedUp(step);
  if (refusal !== undefined) return draftFromError(asked, refusal, { events });
  const draft = isModelStep(step)
    ? await draftFromModel(step, events)
    : (draftFromPlan(step, events) ?? (await draftFromCustomAgent(step, events)));
  return endedByUser(step, draft);
}

/** `endInvocation`: no model is asked any more, and what would hear of the agent's end doesn't. */
function endedByUser({ context }: StepParts, draft: StepDraft): StepDraft {
  if (!context.invocation.endInvocation) return draft;
  const { plan, agents: _agents, ...rest } = draft;
  return plan === undefined ? { ...rest, cut: 'agent' } : { ...draft, plan: { ...plan, ends: true } };
}

/** Only those that ask a model have tools. */
function misplacedCall(step: StepParts): TurnError | undefined {
  if (step.input.ownCall === undefined || isModelStep(step)) return undefined;
  const message = `the agent ${step.agent.name} has no tools: name one that has ${step.input.ownCall.tool}`;
  return { code: 'HOLDFAST_NO_TOOLS', message };
}

/** Input that plugins could not be asked about, and responses of a message that answer nothing. */
function refusedInput({ asked, input, transcript }: StepParts): TurnError | undefined {
  const { last } = transcript;
  const isInput = last?.kind === 'message' || last?.kind === 'responses';
  if (isInput && last.event.invocationId === asked.invocationId && last.event.errorCode === UNSEEN) {
    return { code: UNSEEN, message: last.event.errorMessage ?? '' };
  }
  if (input.step > 1 || transcript.unmatched.length === 0) return undefined;
  const ids = transcript.unmatched
    .slice(0, 5)
    .map((id) => (id === '' ? 'one without an id' : JSON.stringify(id.slice(0, 100))));
  return {
    code: 'HOLDFAST_UNMATCHED_RESPONSE',
    message:
      `the message has function responses for calls that the session doesn't have: ${ids.join(', ')}; ` +
      'send each response under the id of its call',
  };
}

/** Runs once for all attempts of the step: its result is in the step's ledger row. */
async function begin(step: StepParts): Promise<Beginning> {
  const { dependencies, input, opened, context } = step;
  const { session } = opened;
  const { runKey, step: number } = input;
  let beginning = opened.once[BEGUN] as Beginning | undefined;
  if (beginning === undefined) {
    const events = await said(step);
    const { saved } = step.artifacts;
    const value: Beginning = saved.length === 0 ? events : { ...events, artifacts: [...saved] };
    const callKey = stepKeyOf(runKey, number);
    beginning = (await dependencies.store.turns.recordOnce({
      session,
      callKey,
      key: BEGUN,
      value,
    })) as Beginning;
  }
  step.artifacts.restore(beginning.artifacts ?? []);
  for (const { actions } of beginning.events) context.keep(actions);
  return beginning;
}

async function said(step: StepParts): Promise<Beginning> {
  const { begins, code, context, time } = step;
  time.renew();
  if (begins.isFirst) return await (begins.isRoot ? beginRun(code, context) : beginAgent(code, context));
  const told = await reportCompletedCalls(code, context, callsBefore(step), (error) => {
    if (time.isOver) throw error;
    logFailed(step, error);
  });
  if (!begins.enters || told.end !== undefined) return told;
  for (const { actions } of told.events) context.keep(actions);
  const begun = await beginAgent(code, context);
  return { ...begun, events: [...told.events, ...begun.events] };
}

/** Those that the run's step before has asked for. */
function callsBefore({ input: { invocationId, runKey, step }, transcript }: StepParts) {
  return transcript
    .toolCalls(invocationId)
    .filter((call) => call.step === step - 1 && runKeyOfCallKey(call.callKey) === runKey);
}

/** Why the model must not be asked again. */
function usedUp(step: StepParts): TurnError | undefined {
  const { asked, input, opened, runConfig, settings } = step;
  const spent =
    exceededBudget(settings, withLost(opened)) ??
    exceededRunBudget(input.budget, { usage: opened.usage, age: opened.ownAge ?? opened.age }) ??
    exceededAbove(input.above, step.usedAbove);
  if (!isModelStep(step) || input.ownCall !== undefined) return spent;
  const asks = Math.max(input.step - 1, answered(opened.treeUsage ?? opened.usage));
  return (
    exceededLlmCalls(runConfig, asks) ??
    exceededIterations(step.agent, asksOf(step)) ??
    spent ??
    answeringModels(step.agent.canonicalModel)
      .map(({ model }) => missingPrice(settings, asked.agent, model))
      .find((missing) => missing !== undefined)
  );
}

/** How often the agent has asked its model in this run. */
function asksOf({ agent, transferredBy, input, transcript }: ModelStepParts): number {
  if (transferredBy.length === 0) return input.step - 1;
  return transcript
    .events()
    .filter(
      ({ invocationId, author, content }) =>
        invocationId === input.invocationId && author === agent.name && content?.role === 'model',
    ).length;
}

/** Model calls of the whole turn, those of unknown outcome left out. */
function answered({ modelCalls, unknownCalls = 0 }: TurnUsage): number {
  return modelCalls - unknownCalls;
}

/** Attempts that were lost may have been paid: a prompt that kills its worker must not be asked without end. */
function withLost({ usage: own, treeUsage: usage = own, sessionUsage, age, lost }: OpenStep) {
  const counted = <T extends TurnUsage>(of: T): T => ({
    ...of,
    modelCalls: of.modelCalls + lost,
    unknownCalls: (of.unknownCalls ?? 0) + lost,
  });
  return { usage: counted(usage), sessionUsage: counted(sessionUsage), age };
}

/** As plugins and the callbacks of the agent's end have it. The turn's time no longer counts. */
async function heard(step: StepParts, draft: StepDraft): Promise<StepDraft> {
  const { agent, begins, context, current, transferredBy, input, plugins, contextInit, transcript } = step;
  const ending = new StepEnding({
    plugins,
    transferredBy,
    isRoot: begins.isRoot,
    contextInit,
    transcript,
    time: new StepTime(current, agent),
    place: { runKey: input.runKey, step: input.step },
    invocation: context.invocation,
    failed: (error) => logFailed(step, error),
  });
  return await ending.of(draft);
}

async function recorded(step: StepParts, draft: StepDraft): Promise<StepResponse> {
  const { agent, code, time } = step;
  if (
    !isLlmAgent(agent) ||
    agent.outputSchema === undefined ||
    hasNextStep(draft) ||
    draft.error !== undefined
  ) {
    return recordOf(draft);
  }
  const output = await outputOf(code, textOfEvents(draft.events), (error) => {
    if (time.isOver) throw error;
    logFailed(step, error);
  });
  return recordOf(draft, output);
}
