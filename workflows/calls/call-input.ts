import type { ActingAgent, RunTerms } from '../../src/protocol/agent-run.ts';
import type { PlannedCall, ToolCallInput } from '../../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';

/** What the calls of a step have in common. */
export interface CallContext
  extends ActingAgent,
    Pick<ToolCallInput, 'session' | 'runKey' | 'agent' | 'traceparent'> {
  invocationId: string;
  /** How often the turn was handed on by now. */
  handedOn?: number;
}

/** What activities find the agent by, and whose child it is. */
export function placeInTree({
  root,
  within,
  branch,
  path,
  rootWorkflowId,
  tracedBelow,
}: ActingAgent): Omit<ActingAgent, keyof RunTerms> {
  return {
    ...(root === undefined ? {} : { root }),
    ...(within === undefined ? {} : { within }),
    ...(branch === undefined ? {} : { branch }),
    ...(path === undefined ? {} : { path }),
    ...(rootWorkflowId === undefined ? {} : { rootWorkflowId }),
    ...(tracedBelow === undefined ? {} : { tracedBelow }),
  };
}

/** What an agent is kept to that runs for this one. */
export function termsOf({ budget, above, appTerms }: RunTerms): RunTerms {
  return {
    ...(budget === undefined ? {} : { budget }),
    ...(above === undefined ? {} : { above }),
    ...(appTerms === undefined ? {} : { appTerms }),
  };
}

export function inputOf(call: PlannedCall, context: CallContext): ToolCallInput {
  const { session, runKey, agent, traceparent, handedOn } = context;
  return {
    v: PROTOCOL_VERSION,
    session,
    runKey,
    agent,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...placeInTree(context),
    ...(handedOn === undefined ? {} : { handedOn }),
    callKey: call.callKey,
    callId: call.callId,
    args: call.args,
    ...(call.prepared === undefined ? {} : { prepared: call.prepared }),
  };
}
