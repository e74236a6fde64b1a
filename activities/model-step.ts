import { exceededBudget, exceededIterations, exceededLlmCalls, missingPrice } from '../src/flows/budgets.ts';
import {
  draftFromError,
  draftOfEnd,
  recordOf,
  type StepDraft,
  type StepResponse,
  textOf,
} from '../src/flows/step-draft.ts';
import type { PluginFailed } from '../src/plugins/plugin-failed.ts';
import { stepKeyOf } from '../src/protocol/identity.ts';
import type { TurnError } from '../src/protocol/turn.ts';
import type { NewEvent, StepUsage } from '../src/store/store.ts';
import { StoreError } from '../src/store/store-errors.ts';
import { outputOf } from './answer-output.ts';
import { draftFromModel } from './model-answer.ts';
import { type Beginning, beginRun, hasBeginning, NO_BEGINNING, tellCalls } from './step-beginning.ts';
import { hasEnding, StepEnding } from './step-ending.ts';
import { failureOf, logFailed, retriedUnlessLast } from './step-failures.ts';
import { type GivenStep, type OpenStep, type StepParts, stepParts } from './step-parts.ts';
import { OutOfTime, StepTime } from './step-time.ts';

/** Under which a step's ledger row keeps what was said before its model was asked. */
const BEGUN = 'begun';

/** On the event of an input that plugins could not be asked about. */
const UNSEEN: PluginFailed['code'] = 'HOLDFAST_PLUGIN_FAILED';

/**
 * What an opened model step comes to: what user code says before it, its model's answer, what user code makes of that. A plain
 * agent, without plugins and callbacks, asks its model and nobody else.
 *
 * @throws what has the step tried again.
 */
export async function responseOf(given: GivenStep): Promise<StepResponse> {
  const step = stepParts(given);
  try {
    const draft = await draftOf(step);
    const isHeard = hasEnding(step.agent, step.plugins, draft.plan === undefined);
    return await recorded(step, isHeard ? await heard(step, draft) : draft);
  } catch (error) {
    if (step.current.signal.aborted) throw step.current.aborted();
    throw error;
  } finally {
    step.time.close();
  }
}

async function draftOf(step: StepParts): Promise<StepDraft> {
  const { asked, agent, input, opened, plugins, transcript } = step;
  const refused = refusedInput(step);
  if (refused !== undefined) return { ...draftFromError(asked, refused), cut: 'run' };
  let begun: Beginning = NO_BEGINNING;
  try {
    // What was said before counts, also where a deploy has taken away who said it.
    if (BEGUN in opened.once || hasBeginning(agent, plugins, input.step)) begun = await begin(step);
  } catch (error) {
    return { ...draftFromError(asked, await failedToBegin(step, error)), cut: 'agent' };
  }
  const events = begun.events.map((event): NewEvent => ({ kind: 'callback', event }));
  if (begun.end !== undefined) return { ...draftOfEnd(asked, events), cut: begun.end };
  if (step.hasEnded) return { ...draftOfEnd(asked, events), cut: 'agent' };
  const { last } = transcript;
  const isSettled = last?.kind === 'responses' && last.event.invocationId === asked.invocationId;
  // It was settled by an attempt that nobody heard of.
  if (isSettled && last.event.actions.skipSummarization) return draftOfEnd(asked, events);
  const refusal = usedUp(step);
  if (refusal !== undefined) return draftFromError(asked, refusal, { events });
  return endedByUser(step, await draftFromModel(step, events));
}

/** `endInvocation`: no model is asked any more, and what would hear of the agent's end doesn't. */
function endedByUser({ context }: StepParts, draft: StepDraft): StepDraft {
  if (!context.invocation.endInvocation) return draft;
  const { plan } = draft;
  return plan === undefined ? { ...draft, cut: 'agent' } : { ...draft, plan: { ...plan, ends: true } };
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

/** Runs once for all attempts of the step, whatever becomes of them: what it came to is in the step's ledger row. */
async function begin(step: StepParts): Promise<Beginning> {
  const { dependencies, input, opened, context } = step;
  const { session } = opened;
  const { runKey, step: number } = input;
  let beginning = opened.once[BEGUN] as Beginning | undefined;
  if (beginning === undefined) {
    const value = await said(step);
    const callKey = stepKeyOf(runKey, number);
    beginning = (await dependencies.store.recordOnce({ session, callKey, key: BEGUN, value })) as Beginning;
  }
  for (const { actions } of beginning.events) context.keep(actions);
  return beginning;
}

async function said(step: StepParts): Promise<Beginning> {
  const { code, context, input, time, transcript } = step;
  time.renew();
  if (input.step === 1) return await beginRun(code, context);
  const calls = transcript.toolCalls(input.invocationId).filter((call) => call.step === input.step - 1);
  return await tellCalls(code, context, calls, (error) => {
    if (time.isOver) throw error;
    logFailed(step, error);
  });
}

/** The last failure that counts ends the turn. */
async function failedToBegin(step: StepParts, error: unknown): Promise<TurnError> {
  const { asked, current, opened, report } = step;
  if (current.signal.aborted) throw current.aborted();
  // An outage is nobody's failure.
  if (error instanceof StoreError) throw error;
  if (error instanceof OutOfTime) return error;
  const failure = failureOf(error, false);
  report.failed(opened, asked, failure.code);
  await retriedUnlessLast(step, failure);
  return failure;
}

/** Why the model must not be asked again. */
function usedUp({ asked, agent, input, opened, runConfig, settings }: StepParts): TurnError | undefined {
  return (
    exceededLlmCalls(runConfig, input.step - 1) ??
    exceededIterations(agent, input.step - 1) ??
    exceededBudget(settings, withLost(opened)) ??
    missingPrice(settings, asked.agent, asked.model)
  );
}

/** Attempts that were lost may have been paid: a prompt that kills its worker must not be asked without end. */
function withLost({ usage, sessionUsage, age, lost }: OpenStep) {
  const counted = <T extends StepUsage>(of: T): T => ({
    ...of,
    modelCalls: of.modelCalls + lost,
    unknownCalls: (of.unknownCalls ?? 0) + lost,
  });
  return { usage: counted(usage), sessionUsage: counted(sessionUsage), age };
}

/** As plugins and the callbacks of the agent's end have it. The turn's time no longer counts. */
async function heard(step: StepParts, draft: StepDraft): Promise<StepDraft> {
  const { agent, context, current, input, plugins, scene, transcript } = step;
  const ending = new StepEnding({
    plugins,
    scene,
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
  if (agent.outputSchema === undefined || draft.plan !== undefined || draft.error !== undefined) {
    return recordOf(draft);
  }
  const output = await outputOf(code, textOf(draft.events), (error) => {
    if (time.isOver) throw error;
    logFailed(step, error);
  });
  return recordOf(draft, output);
}
