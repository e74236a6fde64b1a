import { activityInfo } from '@temporalio/activity';
import { requestEvent } from '../../src/flows/request-event.ts';
import type { Gate } from '../../src/protocol/gate.ts';
import { toJsonValue } from '../../src/schema/json-value.ts';
import { attemptReplaced } from '../../src/store/store-errors.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import type { AskedPerson } from '../tool/tool-attempt.ts';
import { recordMayHaveRun } from '../tool/tool-failure.ts';
import { type CallToRun, PREPARED } from '../tool/tool-run.ts';
import { gateOf, knownGate, newRequest } from './request.ts';
import { type CallThatAsks, seenRequest } from './seen-request.ts';

interface CallToSuspend extends CallThatAsks, Pick<CallToRun, 'callbacks' | 'answers'> {
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
  if (begun.unknown) await recordMayHaveRun(dependencies, input);
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
