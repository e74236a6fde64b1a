import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { ActingAgent } from '../../src/protocol/agent-run.ts';
import type { RunTerms } from '../../src/protocol/run-terms.ts';
import type { PlannedCall, ToolCallInput } from '../../src/protocol/step.ts';

/** What the calls of a step have in common. */
export interface CallContext
  extends ActingAgent,
    Pick<ToolCallInput, 'session' | 'runKey' | 'agent' | 'traceparent'> {
  invocationId: string;
  /** How often the turn was transferred by now. */
  handedOn?: number;
}

/** What activities find the agent by, and whose child it is. */
export function placeInTree(agent: ActingAgent): Omit<ActingAgent, keyof RunTerms> {
  const { root, within, branch, path, rootWorkflowId, tracedBelow } = agent;
  return { root, within, branch, path, rootWorkflowId, tracedBelow };
}

/** What an agent is kept to that runs for this one. */
export function termsOf({ budget, above, appTerms }: RunTerms): RunTerms {
  return { budget, above, appTerms };
}

export function inputOf(call: PlannedCall, context: CallContext): ToolCallInput {
  const { session, runKey, agent, traceparent, handedOn } = context;
  const { callKey, callId, args, prepared } = call;
  return {
    v: PROTOCOL_VERSION,
    ...{ session, runKey, agent, traceparent, handedOn },
    ...placeInTree(context),
    ...{ callKey, callId, args, prepared },
  };
}
