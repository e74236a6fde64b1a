import { PROTOCOL_VERSION } from '../contract/version.ts';
import type { ActingAgent } from './agent-run.ts';
import type { RunTerms } from './run-terms.ts';
import type { PlannedCall, StepOutcome, ToolCallInput } from './step.ts';

export type CallsOfStep = Extract<StepOutcome, { kind: 'calls' }>;

/** Shared by the calls of a step. */
export interface CallPlace
  extends ActingAgent,
    Pick<ToolCallInput, 'session' | 'runKey' | 'agent' | 'traceparent' | 'handedOn'> {}

/** The fields by which activities find the agent, and its parent. */
export function placeInTree(agent: ActingAgent): Omit<ActingAgent, keyof RunTerms> {
  const { root, within, branch, path, rootWorkflowId, tracedBelow } = agent;
  return { root, within, branch, path, rootWorkflowId, tracedBelow };
}

/** The limits of an agent that runs for this one. */
export function runTermsOf({ budget, above, appTerms }: RunTerms): RunTerms {
  return { budget, above, appTerms };
}

/** Input of a call's run, as an activity or in that of its step. */
export function callInput(call: PlannedCall, place: CallPlace): ToolCallInput {
  const { session, runKey, agent, traceparent, handedOn } = place;
  const { callKey, callId, args, prepared } = call;
  return {
    v: PROTOCOL_VERSION,
    ...{ session, runKey, agent, traceparent, handedOn },
    ...placeInTree(place),
    ...{ callKey, callId, args, prepared },
  };
}
