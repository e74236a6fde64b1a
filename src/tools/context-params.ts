import { createEventActions, type EventActions, type ToolConfirmation } from '../events/event-actions.ts';
import { defined } from '../protocol/json.ts';
import { type ContextInit, InvocationContext, isInvocationContext } from './invocation-context.ts';
import { stateWith } from './readonly-context.ts';
import { State } from './state.ts';
import { stateSchemaOf } from './state-schema.ts';
import { ToolError } from './tool-error.ts';

/** Arguments of an ADK program that makes a context. Fields: those of `@google/adk` 2.0.0. */
export interface ContextParams {
  invocationContext: InvocationContext;
  /** Gets the effects; a fresh one by default, whose effects nobody stores. */
  eventActions?: EventActions;
  functionCallId?: string;
  toolConfirmation?: ToolConfirmation;
}

/** A new context of the same invocation sees the state that its other contexts have written. It writes into its own actions. */
export function initFrom({
  invocationContext,
  eventActions,
  functionCallId,
  toolConfirmation,
}: ContextParams): ContextInit {
  if (!isInvocationContext(invocationContext)) {
    throw new TypeError('new Context: invocationContext must be an InvocationContext, or have a session');
  }
  const { call, eventActions: written, ...init } = InvocationContext.initOf(invocationContext);
  const current =
    functionCallId !== undefined && init.handMade !== undefined
      ? init.handMade.callOf(functionCallId)
      : call?.callId === functionCallId
        ? call
        : undefined;
  return {
    ...init,
    state: stateWith(init.state, written === eventActions ? undefined : written),
    eventActions: eventActions ?? createEventActions(),
    invocation: invocationContext,
    ...defined({ call: current, toolConfirmation }),
  };
}

/** The state of a context. Other contexts read what was there, but that of a session that was made by hand. */
export function stateOf({ state, agent, handMade }: ContextInit, delta: EventActions['stateDelta']): State {
  const schema = stateSchemaOf(agent);
  return handMade === undefined ? State.over(state, delta, schema) : new State(state, delta, schema);
}

/** Something was asked of a context that only the context of a tool call has. */
export class NoCallError extends ToolError {
  override readonly name = 'NoCallError';

  constructor(member: string) {
    super(`context.${member} is there in tool calls only`, { code: 'HOLDFAST_NO_CALL', retryable: false });
  }
}

/** The running call, as something that can be told to end. Name: `tool.Context.Task` of kadirpekel/hector. */
export interface ContextTask {
  /**
   * Has `handler` called once if this call is cancelled, to pass the cancellation on to what the tool has started. Outside
   * of a call it does nothing, because nothing there can be cancelled.
   *
   * @example context.task.onCancel(() => job.stop());
   */
  onCancel(handler: () => unknown): void;
}
