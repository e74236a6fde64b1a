import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { callActionsOf } from '../src/flows/call-actions.ts';
import type { BegunCall, CallActions } from '../src/store/store.ts';
import { Context } from '../src/tools/context.ts';
import type { CallInit, ContextInit } from '../src/tools/context-init.ts';
import type { TranscriptView } from '../src/tools/invocation-context.ts';

type StartedCall = Extract<BegunCall, { kind: 'started' }>;

/** Where user code of a call finds itself. */
export interface CallScene extends Pick<StartedCall, 'names' | 'invocationId' | 'userContent'> {
  agent: LlmAgent;
  /** What user code sees of it. */
  state: Record<string, unknown>;
  abortSignal: AbortSignal;
  /** Left out where nobody has asked for it. */
  transcript?: TranscriptView | undefined;
}

/** What all contexts of a call are made of, and those of the toolsets that have its tool. */
export function contextInitOf(scene: CallScene): ContextInit {
  const { names, invocationId, agent, userContent, state, abortSignal, transcript } = scene;
  return {
    appName: names.app,
    userId: names.userId,
    sessionId: names.sessionId,
    invocationId,
    agentName: agent.name,
    agent,
    state,
    abortSignal,
    ...(userContent === undefined ? {} : { userContent }),
    ...(transcript === undefined ? {} : { transcript }),
  };
}

/**
 * A context of a run of a call.
 *
 * @param before what callbacks did for it when the call was planned: the run's effects begin with that.
 */
export function callContext(
  init: ContextInit,
  call: CallInit,
  abortSignal: AbortSignal,
  before?: CallActions,
): Context {
  return new Context({
    ...init,
    abortSignal,
    call,
    eventActions: createEventActions(structuredClone(before)),
  });
}

/**
 * What user code has done by a call's context, beside its result.
 *
 * @throws InvalidResultError naming the action that can't be kept.
 */
export function effectsOf({ actions, invocationContext }: Context): CallActions {
  const effects = callActionsOf(actions);
  // The invocation ends with this step: nobody is asked for a summary.
  return invocationContext.endInvocation ? { ...effects, skipSummarization: true } : effects;
}
