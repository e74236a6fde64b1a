import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { runConfigOf } from '../../src/app/app-settings.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { StepContext, type StepContextInit } from '../../src/flows/step-context.ts';
import {
  errorEvent,
  invocationAnswer,
  onBranch,
  type StepDraft,
  shortened,
  textOfEvents,
} from '../../src/flows/step-draft.ts';
import { NO_USAGE } from '../../src/flows/step-usage.ts';
import { type Transcript, transcriptView } from '../../src/flows/transcript.ts';
import type { ChainFence } from '../../src/protocol/agent-run.ts';
import { runKeyOfCallKey, stepKeyOf } from '../../src/protocol/identity.ts';
import { defined } from '../../src/protocol/json.ts';
import type {
  StepEnding as GivenEnding,
  SettleStepInput,
  SettleStepResult,
} from '../../src/protocol/step.ts';
import type { TurnError } from '../../src/protocol/turn.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { NewEvent, SettleStep } from '../../src/store/turns/step-store.ts';
import { agentNamed, assertOfApp, isDeployedNowhere, transferredBy } from '../agents.ts';
import type { Attempt } from '../attempt.ts';
import { servicesAtOnce } from '../context-services.ts';
import { type ActivityDependencies, currentTranscript } from '../dependencies.ts';
import { type Deployment, pluginsOf, settingsOf } from '../deployment.ts';
import { cancelUnwantedJobs } from '../jobs/end-job.ts';
import { reportEnd } from '../telemetry/reports.ts';
import { settleUnsettled } from '../tool/settle-unsettled.ts';
import { checkedMessageOf, openUnderFence } from './open-step.ts';
import { NO_BEGINNING, reportCompletedCalls } from './step-beginning.ts';
import { type EndingAgents, hasEnding, outputOf, StepEnding } from './step-ending.ts';
import { logFailed, turnErrorOf } from './step-failures.ts';
import { StepTime, seenEvent, UserCode } from './user-code.ts';

/** `holdfast.settleStep`: settles calls that no attempt lived to settle, and ends a turn that asks no model again. */
export async function settleStep(
  dependencies: ActivityDependencies,
  given: SettleStepInput,
  current: Attempt,
): Promise<SettleStepResult> {
  const place = given.session === undefined ? await placeOf(dependencies, given) : { session: given.session };
  if (place === undefined) return { v: PROTOCOL_VERSION, seq: 0, from: 0 };
  const input = { ...given, step: await lastStep(dependencies, given, place.session) };
  const {
    ending: _ending,
    identity: _identity,
    message: _message,
    stateDelta: _delta,
    ended: _ended,
    cameAt: _cameAt,
    ...position
  } = input;
  const told = await hasEnded(dependencies, input);
  const { store } = dependencies;
  const step = { ...position, ...place, unsettled: await settleUnsettled(dependencies, input) };
  const agent = told ? undefined : agentWithHooks(dependencies, input);
  let ending = givenEnding(input);
  if (agent !== undefined && input.ending !== undefined) {
    // They see outcomes, and no call that is yet to have one.
    if (step.unsettled.length > 0) await store.turns.settleStep(step);
    step.unsettled = [];
    ending = await endingByHooks({ dependencies, input, ending: input.ending, ...place, agent, current });
  }
  const { cutOff = [], ...settled } = await store.turns.settleStep({
    ...step,
    ...defined({ ending }),
  });
  if (!told) reportEnd(dependencies.telemetry, input, settled.outcome);
  if (place.session === input.session) {
    await cancelUnwantedJobs(dependencies, { ...input, calls: [...input.unsettled, ...cutOff] }, current);
  }
  return { v: PROTOCOL_VERSION, ...settled };
}

/** A turn that is cut off in a chain of steps ends at the last of them, which the workflow has not heard of. */
async function lastStep(
  { store }: ActivityDependencies,
  { step, runKey, ending }: SettleStepInput,
  session: string,
): Promise<number> {
  if (ending === undefined || ending.status === 'completed') return step;
  return Math.max(step, await store.turns.latestStep({ session, runKey }));
}

/**
 * Of an invocation whose first step has not answered: it may have been opened, or its message waits in the inbox. Otherwise
 * it is opened now, so that its message is known as one that was cut off.
 */
async function placeOf(
  { store }: ActivityDependencies,
  { identity, ...input }: SettleStepInput,
): Promise<{ session: string; fence?: ChainFence } | undefined> {
  if (identity === undefined) return undefined;
  const begun = await store.turns.findInvocation(identity, input.invocationId);
  if (begun !== undefined) return { session: begun.session };
  if (input.message === undefined) {
    const waits = (await store.messages.readInbox(identity)).some(
      (row) => row.invocationId === input.invocationId,
    );
    const found = waits ? await store.sessions.find(identity) : undefined;
    return found && { session: found.session };
  }
  const { invocationId, runKey, step, seq, fence } = input;
  const { opened, fence: own } = await openUnderFence(store, {
    invocationId,
    runKey,
    step,
    seq,
    fence,
    identity,
    ...checkedMessageOf(input),
  });
  const { session } = opened;
  if (opened.kind === 'open') {
    // No model was asked.
    await store.turns.recordStepFailure({
      session,
      runKey,
      step,
      error: 'ended before it began',
      counts: false,
    });
  }
  return { session, fence: own };
}

/** The turn's end is recorded: who did that has told of it, be it an earlier attempt or a model's last answer. */
async function hasEnded(
  { store }: ActivityDependencies,
  { ended, invocationId }: SettleStepInput,
): Promise<boolean> {
  if (ended === undefined) return false;
  const { app, userId, sessionId } = ended;
  return (await store.turns.findInvocation({ app, userId, sessionId }, invocationId))?.outcome !== undefined;
}

type Ending = NonNullable<SettleStep['ending']>;

/** An ending that callbacks and plugins may change. */
interface EndingForHooks {
  dependencies: ActivityDependencies;
  input: SettleStepInput;
  ending: GivenEnding;
  session: string;
  agent: BaseAgent;
  current: Attempt;
}

function endingAgents(deployment: Deployment, input: SettleStepInput): EndingAgents {
  return {
    agent: agentNamed(deployment, input),
    transferredBy: transferredBy(deployment, input),
    isRoot: input.path === undefined,
  };
}

/** The end of an invocation, by the workflow's word. */
function givenEnding({ ending, invocationId, agent, branch }: SettleStepInput): Ending | undefined {
  if (ending === undefined) return undefined;
  const { cutOff, ...outcome } = ending;
  const { error } = outcome;
  return {
    outcome,
    ...defined({ cutOff }),
    ...(error === undefined
      ? {}
      : { events: onBranch(branch, [errorEvent({ invocationId, agent }, error)]) }),
  };
}

/**
 * The agent whose plugins and callbacks are asked about the end of its turn; undefined if there is no such agent. An interruption is none:
 * its turn is left as it stands.
 *
 * @throws NotDeployedHere while another worker may have the agent.
 */
function agentWithHooks({ deployment }: ActivityDependencies, input: SettleStepInput): BaseAgent | undefined {
  const { ending, ended, agent: name } = input;
  if (ending === undefined || ending.status === 'interrupted') return undefined;
  if (ended === undefined || name === '') return undefined;
  try {
    assertOfApp(deployment, ended.app, input);
    const agents = endingAgents(deployment, input);
    const plugins = pluginsOf(deployment, ended.app);
    const hasHooks = hasEnding(agents, plugins, true) || plugins.has('onToolCallCompleted');
    return hasHooks ? agents.agent : undefined;
  } catch (error) {
    if (isDeployedNowhere(error)) return undefined;
    throw error;
  }
}

/**
 * The end of an invocation after its plugins and callbacks: they see the responses of its last calls, then its end. All of
 * these calls are settled by now, unless the ending cuts them off.
 *
 * @throws an error after which the attempt is tried again.
 */
async function endingByHooks(heard: EndingForHooks): Promise<Ending> {
  const { current } = heard;
  try {
    return await endingOfHooks(heard);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    throw error;
  }
}

async function endingOfHooks(heard: EndingForHooks): Promise<Ending> {
  const { dependencies, input, ending, session, agent, current } = heard;
  const { deployment, store } = dependencies;
  const { invocationId, runKey, step } = input;
  // The next step's input is the outcomes of this one's calls.
  const next = ending.cutOff === undefined ? step + 1 : step;
  const peeked = await store.turns.peekStep({ session, invocationId, runKey, step: next });
  const { names, responses: given, answers, asked } = peeked;
  assertOfApp(deployment, names.app, input);
  const before = await currentTranscript(dependencies, session, names);
  const plugins = pluginsOf(deployment, names.app);
  const settings = settingsOf(deployment, names.app, input.appTerms);
  const time = new StepTime(current, agent);
  const code = new UserCode(agent, plugins, time);
  const failed = (error: unknown) => {
    if (time.isOver) throw error;
    logFailed({ dependencies, agent, place: { app: names.app, sessionId: names.sessionId, step } }, error);
  };
  const { state } = peeked;
  const contextInit: Omit<StepContextInit, 'transcript'> = {
    names,
    invocationId,
    agent,
    ...defined({ branch: input.branch }),
    state,
    userContent: peeked.userContent ?? before.message,
    runConfig: runConfigOf(settings, asked?.runConfig),
    abortSignal: current.signal,
    services: servicesAtOnce(
      dependencies,
      names,
      { session, key: `${stepKeyOf(runKey, step)}/end` },
      current.signal,
    ),
  };
  const seen = await seenResponses(code, contextOf(contextInit, before), given, failed);
  const place = { runKey, step };
  const transcript =
    seen.responses === undefined
      ? before
      : before.followedBy([responsesAt(answers ?? place, seen.responses)]);
  const context = contextOf(contextInit, transcript);
  if (seen.responses !== undefined) context.keep(seen.responses.actions);
  const calls = transcript
    .toolCalls(invocationId)
    .filter((call) => call.step === next - 1 && runKeyOfCallKey(call.callKey) === runKey);
  const told = given === undefined ? NO_BEGINNING : await reportCompletedCalls(code, context, calls, failed);
  for (const { actions } of told.events) context.keep(actions);
  const error = seen.error ?? ending.error;
  const position = { session, invocationId, runKey, step, agent: agent.name };
  const draft: StepDraft = {
    asked: { ...position, model: '', usage: ending.usage, prices: settings.prices },
    events: [
      ...told.events.map((event): NewEvent => ({ kind: 'callback', event })),
      ...(error === undefined ? [] : [errorEvent({ invocationId, agent: agent.name }, error)]),
    ],
    usage: NO_USAGE,
    ...(peeked.remembered.ends || told.end !== undefined ? { cut: 'agent' as const } : {}),
    ...defined({ error }),
  };
  const { transferredBy: earlier, isRoot } = endingAgents(deployment, input);
  const parts = {
    ...{ plugins, time, contextInit, transcript, place, failed, isRoot },
    transferredBy: earlier,
    invocation: context.invocation,
  };
  const ended = await new StepEnding(parts).of(draft);
  const text = ended.error === undefined ? textOfEvents(ended.events) : undefined;
  const output = await outputOf(code, text, failed);
  return {
    outcome:
      ended.error === undefined
        ? {
            status: 'completed',
            ...invocationAnswer(place, text, output),
            ...defined({ output: ending.output }),
            usage: ending.usage,
          }
        : { status: 'failed', error: concealed(heard, ended.error), usage: ending.usage },
    ...defined({ cutOff: ending.cutOff, responses: seen.responses }),
    ...(ended.events.length === 0 ? {} : { events: onBranch(input.branch, ended.events) }),
  };
}

function contextOf(contextInit: Omit<StepContextInit, 'transcript'>, transcript: Transcript): StepContext {
  return new StepContext({
    ...contextInit,
    transcript: transcriptView(transcript, contextInit.invocationId),
  });
}

/** The responses that are stored, and why their turn fails where plugins could not be asked about them. */
async function seenResponses(
  code: UserCode,
  { invocation }: StepContext,
  responses: DraftEvent | undefined,
  failed: (error: unknown) => void,
): Promise<{ responses?: DraftEvent; error?: TurnError }> {
  if (responses === undefined) return {};
  try {
    return { responses: await seenEvent(code, invocation, responses) };
  } catch (error) {
    failed(error);
    return { responses, error: shortened(turnErrorOf(error)) };
  }
}

function responsesAt(place: { runKey: string; step: number }, event: DraftEvent) {
  return {
    ...place,
    kind: 'responses' as const,
    event: { ...event, id: '', timestamp: Date.now() },
  };
}

/** Texts of user code are kept where they are encoded; the workflow's own may be told. */
function concealed({ dependencies, ending }: EndingForHooks, error: TurnError): TurnError {
  if (!dependencies.conceal || error === ending.error) return error;
  return { ...error, concealed: true };
}
