import { activityInfo } from '@temporalio/activity';
import { requestEvent } from '../../src/flows/request-event.ts';
import type { Gate } from '../../src/protocol/gate.ts';
import { toJsonValue } from '../../src/schema/json-value.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import { attemptReplaced } from '../../src/store/store-errors.ts';
import { InvocationContext } from '../../src/tools/invocation-context.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { pluginsOf, settingsOf } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { StepTime, seenEvent, UserCode } from '../model/user-code.ts';
import type { AskedPerson } from '../tool/tool-attempt.ts';
import { describeFailure } from '../tool/tool-failure.ts';
import { type CallToRun, PREPARED } from '../tool/tool-run.ts';
import { gateOf, knownGate, newRequest } from './request.ts';

/** A call whose attempt asks a person. */
export interface CallThatAsks
  extends Pick<CallToRun, 'input' | 'begun' | 'agent' | 'tool' | 'callbacks' | 'init' | 'answers'> {
  current: Attempt;
}

interface CallToSuspend extends CallThatAsks {
  /** Number of the request within the call. */
  n: number;
}

/** The question of a call to a person, and the arguments for its run after the answer. */
interface AskingRun extends AskedPerson {
  args: Record<string, unknown>;
}

/**
 * Ends an attempt with a question: the request and its event are in the store, and the call waits.
 *
 * @throws JsonValueError for arguments that callbacks have made something else of than JSON.
 */
export async function suspendCall(
  dependencies: ActivityDependencies,
  call: CallToSuspend,
  { asked, args, prepared, stateDelta }: AskingRun,
): Promise<Gate> {
  const { store, deployment } = dependencies;
  const { input, begun, agent, tool, callbacks, answers, n } = call;
  const { session, runKey, callKey, callId } = input;
  const workflowId = activityInfo().workflowExecution?.workflowId ?? '';
  const json = toJsonValue(args) as Record<string, unknown>;
  const { terms } = answers;
  const asking = { callKey, callId, agent, tool, args: json, workflowId, terms, acting: input };
  const request = newRequest(asking, n, asked);
  if (prepared && !input.prepared && callbacks.has('beforeToolCallback')) {
    await store.turns.recordOnce({ session, callKey, key: PREPARED, value: true });
  }
  const event = requestEvent([request], { invocationId: begun.invocationId, author: agent.name });
  Object.assign(event.actions.stateDelta, stateDelta);
  const isSuspended = await store.approvals.suspendCall({
    session,
    runKey,
    callKey,
    attempt: begun.attempt,
    request,
    event: await seenRequest(dependencies, call, event),
  });
  // The attempt that went on without this one has its outcome, or another question.
  if (!isSuspended) throw attemptReplaced(callKey);
  const gate: Gate = { ...gateOf(request, tool, settingsOf(deployment, begun.names.app)), inside: true };
  return begun.attempt === 1 ? gate : await knownGate(store, session, gate);
}

/** Plugins see it. Their failure doesn't keep a person from being asked. */
export async function seenRequest(
  dependencies: ActivityDependencies,
  { input, begun, agent, tool, init, current }: CallThatAsks,
  event: DraftEvent,
): Promise<DraftEvent> {
  const plugins = pluginsOf(dependencies.deployment, begun.names.app);
  if (!plugins.has('onEventCallback')) return event;
  const time = new StepTime(current, agent);
  try {
    const code = new UserCode(agent, plugins, time);
    return await seenEvent(code, new InvocationContext(init), event, 'request');
  } catch (error) {
    if (time.isOver) throw error;
    const { callKey } = input;
    const { app, sessionId } = begun.names;
    callLogger(dependencies, { app, sessionId, callKey, agent: agent.name, tool: tool.name }).warn(
      'plugins were not heard about a request',
      dependencies.conceal ? {} : { problem: describeFailure(error).message },
    );
    return event;
  } finally {
    time.close();
  }
}
