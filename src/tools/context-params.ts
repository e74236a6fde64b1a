import { createEventActions, type EventActions, type ToolConfirmation } from '../events/event-actions.ts';
import { defined } from '../protocol/json.ts';
import { type ContextInit, InvocationContext, isInvocationContext } from './invocation-context.ts';
import { stateWith } from './readonly-context.ts';
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
}: ContextParams) {
  if (!isInvocationContext(invocationContext)) {
    throw new TypeError('new Context: invocationContext must be the InvocationContext that Holdfast made');
  }
  const { call, eventActions: written, ...init } = InvocationContext.initOf(invocationContext);
  const isOfCall = call !== undefined && call.callId === functionCallId;
  return {
    ...init,
    state: stateWith(init.state, written === eventActions ? undefined : written),
    eventActions: eventActions ?? createEventActions(),
    invocation: invocationContext,
    ...(isOfCall ? { call } : {}),
    ...defined({ toolConfirmation }),
  } satisfies ContextInit;
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
