import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { Event } from '../../src/events/event.ts';
import { transcriptView } from '../../src/flows/transcript.ts';
import type { ToolEdit } from '../../src/protocol/run-terms.ts';
import type { SettleStepInput, UnsettledCall } from '../../src/protocol/step.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { KnownCall } from '../../src/store/turns/call-store.ts';
import type { SettleStep } from '../../src/store/turns/step-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { CallInit, ContextInit } from '../../src/tools/invocation-context.ts';
import { isOfApp, knownCaller } from '../agents.ts';
import { attemptServices } from '../context-services.ts';
import { type ActivityDependencies, currentTranscript } from '../dependencies.ts';
import { NO_PLUGINS, pluginsOf } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { callContext, contextInitOf, NOTHING_ONCE, onceIn } from './call-context.ts';
import { searchTool } from './find-tool.ts';
import { outcomeOfFailure } from './settle-call.ts';
import { ToolCallbacks } from './tool-callbacks.ts';
import { describeFailure, storeErrorIn, unsettledCall } from './tool-failure.ts';

/** Milliseconds that the callbacks of one call may take; those of a step's calls run side by side. */
const CALLBACK_TIME = 20_000;

type SettledWith = SettleStep['unsettled'][number];

/**
 * The outcomes, after callbacks, of calls that ended before an attempt could settle them, such as cancelled ones. Nothing is asked
 * or read where no callback hears of failed calls, or for calls that an interruption of their turn has cut off.
 */
export async function settleUnsettled(
  dependencies: ActivityDependencies,
  input: SettleStepInput,
): Promise<SettleStep['unsettled']> {
  const { unsettled, session, ending, invocationId, runKey, step } = input;
  const { deployment, store } = dependencies;
  const agent = knownCaller(deployment, input);
  if (unsettled.length === 0 || session === undefined || agent === undefined) return unsettled;
  // The app is not read yet.
  const managers = [NO_PLUGINS, ...deployment.plugins.values()];
  const isHeard = managers.some((plugins) => new ToolCallbacks(agent, plugins).handleFailures);
  if (ending?.status === 'interrupted' || !isHeard) return unsettled;
  const peeked = await store.turns.peekStep({ session, invocationId, runKey, step });
  const { names } = peeked;
  const callbacks = new ToolCallbacks(agent, pluginsOf(deployment, names.app));
  if (!callbacks.handleFailures || !isOfApp(deployment, names.app, input)) return unsettled;
  const transcript = await currentTranscript(dependencies, session, names);
  const abortSignal = AbortSignal.timeout(CALLBACK_TIME);
  const view = transcriptView(transcript, invocationId);
  const init = contextInitOf({ ...peeked, invocationId, agent, abortSignal, transcript: view });
  const edits = peeked.remembered.toolEdits;
  const calls = { dependencies, session, agent, callbacks, init, edits, events: transcript.events() };
  return await Promise.all(unsettled.map((call) => settledWith(calls, call)));
}

interface UnsettledCalls {
  dependencies: ActivityDependencies;
  session: string;
  agent: LlmAgent;
  callbacks: ToolCallbacks;
  init: ContextInit;
  edits: readonly ToolEdit[];
  events: readonly Event[];
}

function namesIn({ appName: app, userId, sessionId }: ContextInit): SessionNames {
  return { app, userId, sessionId };
}

async function settledWith(calls: UnsettledCalls, call: UnsettledCall): Promise<SettledWith> {
  // Code that the model wrote is no tool's call.
  if (call.callId === '') return call;
  const { dependencies, session, callbacks, init, events } = calls;
  const { callKey } = call;
  const known = await dependencies.store.turns.findCall({ session, callKey });
  // A call that was settled meanwhile counts, and its callbacks have run.
  if (known?.settled) return call;
  const tool = await toolOf(calls, call);
  if (tool === undefined) return call;
  const signal = init.abortSignal as AbortSignal;
  const services = attemptServices(dependencies, namesIn(init), { session, callKey }, signal);
  const context = callContext(
    { ...init, ...services },
    callInit(calls, call, known),
    signal,
    known?.prepared,
  );
  const planned = await dependencies.store.turns.callArguments({ session, callKey });
  const args = structuredClone(planned ?? argumentsIn(events, call.callId));
  const { response, failed, actions } = await outcomeOfFailure(callbacks, {
    call: { tool, args, context },
    thrown: unsettledCall(call.error),
    time: CALLBACK_TIME,
  });
  return { ...call, response, failed, actions };
}

/** Undefined where this worker doesn't have it: the call keeps its error. */
async function toolOf(
  { dependencies, agent, init, edits }: UnsettledCalls,
  { tool: name, callId, callKey }: UnsettledCall,
): Promise<BaseTool | undefined> {
  const { deployment, conceal } = dependencies;
  try {
    return await searchTool({ deployment, agent, init, edits, time: CALLBACK_TIME }, { name, callId });
  } catch (error) {
    if (storeErrorIn(error) !== undefined) throw error;
    const { message } = describeFailure(error);
    callLogger(dependencies, { app: init.appName, callKey, agent: agent.name, tool: name }).warn(
      'no callbacks were asked about a failed call: its tool was not found',
      conceal ? {} : { problem: message },
    );
    return undefined;
  }
}

function callInit(
  { dependencies: { store }, session }: UnsettledCalls,
  { callKey, callId }: UnsettledCall,
  known: KnownCall | undefined,
): CallInit {
  const once = known === undefined ? NOTHING_ONCE : onceIn(store, { session, callKey }, known.once);
  const attempt = Math.max(known?.attempts ?? 0, 1);
  return { callKey, callId, session, attempt, once, heartbeat: () => undefined };
}

/** The model's, where the store knows nothing of the call. */
export function argumentsIn(events: readonly Event[], callId: string): Record<string, unknown> {
  for (const { content } of events.toReversed()) {
    const called = content?.parts?.find(({ functionCall }) => functionCall?.id === callId);
    if (called?.functionCall !== undefined) return called.functionCall.args ?? {};
  }
  return {};
}
