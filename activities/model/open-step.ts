import { Context as ActivityContext, activityInfo } from '@temporalio/activity';
import proto from '@temporalio/proto';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { runConfigOf } from '../../src/app/app-settings.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import { unreadable } from '../../src/contract/messages.ts';
import type { Content } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { StepContext } from '../../src/flows/step-context.ts';
import { shortened } from '../../src/flows/step-draft.ts';
import { TranscriptLog, transcriptView } from '../../src/flows/transcript.ts';
import type { KnownTranscript } from '../../src/flows/transcript-cache.ts';
import { readAnswer } from '../../src/plugins/plugin-answer.ts';
import { PluginFailed } from '../../src/plugins/plugin-failed.ts';
import type { ChainFence } from '../../src/protocol/agent-run.ts';
import { defined } from '../../src/protocol/json.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import type { TurnRunConfig } from '../../src/protocol/run-terms.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { Store } from '../../src/store/store.ts';
import { Fenced, Unstorable } from '../../src/store/store-errors.ts';
import type { OpenedStep, OpenStep, PeekedStep } from '../../src/store/turns/step-store.ts';
import { agentNamed, assertOfApp, isDeployedNowhere, rootOf } from '../agents.ts';
import { type Attempt, retryLater, withoutStack } from '../attempt.ts';
import { servicesAtOnce } from '../context-services.ts';
import { type ActivityDependencies, currentTranscript } from '../dependencies.ts';
import { pluginsOf, rootAgentOf, settingsOf } from '../deployment.ts';
import { StepTime, seenEvent, UserCode } from './user-code.ts';

const STARTED = proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;

/** A step that was opened, and the fence that it has from then on. */
export interface OpenedUnder {
  opened: OpenedStep;
  fence: ChainFence;
}

/**
 * Opens a step. A first one that the fence keeps out may be that of a chain whose server's clock was set back since the
 * session's last turn: the attempt that Temporal waits for now is the newest one, also against the clock, and goes first.
 */
export async function openUnderFence(store: Store, step: OpenStep): Promise<OpenedUnder> {
  try {
    return under(step.fence, await store.turns.openStep(step));
  } catch (error) {
    if (!(error instanceof Fenced) || step.identity === undefined) throw error;
    const newest = await store.turns.newestFence(step.identity);
    if (newest === undefined || newest.startedAt < step.fence.startedAt || !(await isAwaited())) throw error;
    const fence = { ...step.fence, startedAt: newest.startedAt + 1 };
    return under(fence, await store.turns.openStep({ ...step, fence }));
  }
}

/** An earlier attempt may have raised the fence before it was lost. */
function under(fence: ChainFence, opened: OpenedStep): OpenedUnder {
  return {
    opened,
    fence:
      opened.kind === 'recorded' && opened.startedAt > fence.startedAt
        ? { ...fence, startedAt: opened.startedAt }
        : fence,
  };
}

/** Whether this very attempt is what Temporal waits for; a run can have given it up and gone on. */
async function isAwaited(): Promise<boolean> {
  const { workflowExecution, activityId, attempt } = activityInfo();
  if (workflowExecution === undefined) return false;
  const { workflowId, runId } = workflowExecution;
  const { workflow } = ActivityContext.current().client;
  const open = await workflow.getHandle(workflowId).describe();
  if (open.runId !== runId || open.status.name !== 'RUNNING') return false;
  const pending = open.raw.pendingActivities?.find((activity) => activity.activityId === activityId);
  return pending?.state === STARTED && pending.attempt === attempt;
}

/** A step says that it is another turn's than its own message has begun. Nothing was written in its name. */
export function misplacedStep(problem: string): HoldfastError {
  return withoutStack(
    new HoldfastError('HOLDFAST_MISPLACED_STEP', `the step doesn't belong to its turn: ${problem}`),
  );
}

/**
 * Refuses a step that none of our workflows sends: by such a step somebody could put a forged message or call into another person's turn.
 *
 * @throws HOLDFAST_MISPLACED_STEP
 */
export function checkPlace(input: CallModelInput): void {
  const { identity, call, invocationId, runKey, step, ownCall, message, messageDigest } = input;
  if (identity === undefined && (message !== undefined || messageDigest !== undefined)) {
    throw misplacedStep('it has a message and no identity');
  }
  if (identity !== undefined && runKey !== invocationId) {
    throw misplacedStep('it begins a turn under the run key of another one');
  }
  if (call !== undefined && identity?.sessionId !== runKey) {
    throw misplacedStep('a call begins its agent in the session of another run');
  }
  if (ownCall !== undefined && (step !== 1 || identity === undefined)) {
    throw misplacedStep('a call of a workflow is the first step of a turn of its own');
  }
}

type StepInput = Pick<OpenStep, 'message' | 'messageDigest' | 'responses'> &
  Pick<PeekedStep, 'behind'> & {
    /** The message in the inbox has another digest than its client has said. */
    isOther?: true;
  };

interface Site {
  dependencies: ActivityDependencies;
  input: CallModelInput;
  known: KnownTranscript;
  current: Attempt;
}

/** Attempts and delay for plugins that fail before a step has begun. */
const MOST_ATTEMPTS = 3;
const DELAY = 1_000;
const HOOK = 'onUserMessageCallback';

/**
 * The input that opens a step, or the reason not to open it now. The store is asked for the input only if a plugin sees it first: a
 * crash before the opening asks the plugin again, and the store keeps one input.
 *
 * @throws an error after which the step is tried again.
 */
export async function stepInput(site: Site): Promise<StepInput> {
  return site.input.step === 1 ? await firstInput(site) : await laterInput(site);
}

async function firstInput(site: Site): Promise<StepInput> {
  const { dependencies, input } = site;
  const { deployment, store } = dependencies;
  const { identity, invocationId, runKey, step } = input;
  const app = identity?.app ?? '';
  const { customMetadata } = runConfigOf(settingsOf(deployment, app), input.runConfig);
  const given = checkedMessageOf(input, customMetadata);
  const hasHook = pluginsOf(deployment, app).has(HOOK);
  const isMarked = given.message === undefined && customMetadata !== undefined;
  if (identity === undefined || (!hasHook && !isMarked)) return given;
  const { fence, mayGiveWay = false } = input;
  const { message: sent, messageDigest } = given;
  const peeked = await store.turns.peekStep({
    identity,
    invocationId,
    runKey,
    step,
    fence,
    mayGiveWay,
    ...defined({ messageDigest, message: sent }),
  });
  // Plugins see it when its turn comes.
  if (peeked.behind !== undefined) return { behind: peeked.behind };
  // A retry has its message already.
  if (peeked.begun) return given;
  const original =
    sent === undefined ? waiting(input, peeked, customMetadata) : withContent(given, sent, peeked);
  const { message } = original;
  if (!hasHook || message?.content === undefined) return original;
  return { ...original, message: await messageByPlugins(site, peeked, message, message.content) };
}

/** The store's content has the outcomes of jobs that ended otherwise. */
function withContent(given: StepInput, sent: DraftEvent, { message: content }: PeekedStep): StepInput {
  return content === undefined ? given : { ...given, message: { ...sent, content } };
}

/** The message in the inbox, as one that is sent along. */
function waiting(
  { invocationId, messageDigest: digest }: CallModelInput,
  { message, stateDelta, messageDigest: kept }: PeekedStep,
  customMetadata: TurnRunConfig['customMetadata'],
): StepInput {
  if (message === undefined) return digest === undefined ? {} : { messageDigest: digest };
  const state = stateDelta === undefined ? {} : { stateDelta };
  return {
    ...messageOf({ invocationId, message, ...state }, customMetadata),
    messageDigest: digest ?? kept ?? messageDigest(message, stateDelta),
    // An attestation of another message proves nothing of this one.
    ...(digest === undefined || digest === kept ? {} : { isOther: true }),
  };
}

async function messageByPlugins(
  site: Site,
  peeked: PeekedStep,
  message: DraftEvent,
  userMessage: Content,
): Promise<DraftEvent> {
  return await inputFrom(site, peeked, message, async (code, { invocation: invocationContext }) => {
    const shown = structuredClone(userMessage);
    const answer = await code.plugin(HOOK, { invocationContext, userMessage: shown });
    // Changes that plugins make in place count, too.
    const read = readAnswer(HOOK, answer ?? shown);
    if ('problem' in read) throw refused(code, read.problem);
    const content = read.value as Content;
    if ((content.parts ?? []).length === 0) throw refused(code, 'No parts in the newMessage.');
    return { ...message, content: { ...content, role: 'user' } };
  });
}

function refused({ plugins }: UserCode, problem: string): PluginFailed {
  const plugin = plugins.plugins.map(({ name }) => name).join(', ');
  return new PluginFailed({ plugin, hook: HOOK, problem, retryable: false });
}

async function laterInput(site: Site): Promise<StepInput> {
  const { dependencies, input, known } = site;
  const { deployment, store } = dependencies;
  const { session, invocationId, runKey, step } = input;
  const managers =
    known.app === undefined ? [...deployment.plugins.values()] : [pluginsOf(deployment, known.app)];
  if (session === undefined || !managers.some((plugins) => plugins.has('onEventCallback'))) return {};
  const peeked = await store.turns.peekStep({ session, invocationId, runKey, step });
  const { begun, responses, names } = peeked;
  if (begun || responses === undefined || !pluginsOf(deployment, names.app).has('onEventCallback')) return {};
  return {
    responses: await inputFrom(site, peeked, responses, (code, { invocation }) =>
      seenEvent(code, invocation, responses),
    ),
  };
}

/**
 * The input that plugins make of this one. Where they fail for good it is this one, with their error on it, so that nobody goes
 * on as if they had seen it.
 */
async function inputFrom(
  site: Site,
  peeked: PeekedStep,
  given: DraftEvent,
  ask: (code: UserCode, step: StepContext) => Promise<DraftEvent>,
): Promise<DraftEvent> {
  const { dependencies, current } = site;
  const agent = actingAgent(site, peeked);
  // This worker doesn't have the agent, so it doesn't run the step either.
  if (agent === undefined) return given;
  const time = new StepTime(current, agent);
  const code = new UserCode(agent, pluginsOf(dependencies.deployment, peeked.names.app), time);
  try {
    return await ask(code, await contextOf(site, peeked, agent, given));
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    if (!(error instanceof PluginFailed)) throw error;
    const { code: errorCode, message } = error;
    if (error.retryable && activityInfo().attempt < MOST_ATTEMPTS) {
      throw retryLater(errorCode, dependencies.conceal ? errorCode : message, { delay: DELAY });
    }
    return { ...given, errorCode, errorMessage: shortened({ code: errorCode, message }).message };
  } finally {
    time.close();
  }
}

/**
 * The answering agent, as far as it is known: a first step may yet find another one in the session.
 *
 * @throws NotDeployedHere while another worker may have the agent: it would go on with what plugins have not seen.
 */
function actingAgent({ dependencies, input }: Site, { names }: PeekedStep): BaseAgent | undefined {
  const { deployment } = dependencies;
  try {
    const tree = input.rootAgent ?? rootAgentOf(deployment, names.app);
    const { agent = tree } = input;
    const named = { ...input, agent, root: input.root ?? rootOf(deployment, agent, tree) };
    assertOfApp(deployment, names.app, named);
    return agentNamed(deployment, named);
  } catch (error) {
    if (isDeployedNowhere(error)) return undefined;
    throw error;
  }
}

async function contextOf(
  { dependencies, input, current }: Site,
  { names, seq, state, userContent }: PeekedStep,
  agent: BaseAgent,
  given: DraftEvent,
): Promise<StepContext> {
  const { deployment, store } = dependencies;
  const { invocationId } = input;
  const session = input.session ?? (seq === 0 ? undefined : (await store.sessions.find(names))?.session);
  const transcript =
    session === undefined ? new TranscriptLog().at(0) : await currentTranscript(dependencies, session, names);
  return new StepContext({
    names,
    invocationId,
    agent,
    ...defined({ branch: input.branch }),
    state,
    userContent: userContent ?? given.content,
    runConfig: runConfigOf(settingsOf(deployment, names.app, input.appTerms), input.runConfig),
    abortSignal: current.signal,
    transcript: transcriptView(transcript, invocationId),
    services: servicesAtOnce(
      dependencies,
      names,
      { session, key: `${invocationId}/message` },
      current.signal,
    ),
  });
}

interface GivenMessage {
  invocationId: string;
  message?: string | Content;
  messageDigest?: string;
  stateDelta?: Record<string, unknown>;
}

/** @throws Unstorable naming the field of a message that no step could read: it would stand in the transcript for ever. */
export function checkedMessageOf(
  given: GivenMessage,
  customMetadata?: Record<string, unknown>,
): ReturnType<typeof messageOf> {
  const { message, stateDelta } = given;
  const problem = message === undefined ? undefined : unreadable(message, stateDelta);
  if (problem !== undefined) throw new Unstorable(problem);
  return messageOf(given, customMetadata);
}

/**
 * The message that opens a first step; a message that is not given is in the store.
 *
 * @param customMetadata of the turn's run config.
 */
export function messageOf(
  { invocationId, message, messageDigest: digest, stateDelta }: GivenMessage,
  customMetadata?: Record<string, unknown>,
): Pick<OpenStep, 'message' | 'messageDigest'> {
  if (message === undefined) return digest === undefined ? {} : { messageDigest: digest };
  const content: Content = typeof message === 'string' ? { parts: [{ text: message }] } : message;
  return {
    message: {
      invocationId,
      author: 'user',
      content: { ...content, role: 'user' },
      ...defined({ customMetadata }),
      actions: createEventActions({ stateDelta: stateDelta ?? {} }),
    },
    messageDigest: messageDigest(message, stateDelta),
  };
}
