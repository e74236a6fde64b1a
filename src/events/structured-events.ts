import type { CodeExecutionResult, ExecutableCode, FunctionCall, FunctionResponse } from './content.ts';
import { type Event, isFinalResponse } from './event.ts';

/** Kinds of a {@link StructuredEvent}. Values: `EventType` of `@google/adk` 2.0.0. */
export const EventType = {
  THOUGHT: 'thought',
  CONTENT: 'content',
  TOOL_CALL: 'tool_call',
  TOOL_RESULT: 'tool_result',
  CALL_CODE: 'call_code',
  CODE_RESULT: 'code_result',
  ERROR: 'error',
  ACTIVITY: 'activity',
  TOOL_CONFIRMATION: 'tool_confirmation',
  FINISHED: 'finished',
} as const;

export type EventType = (typeof EventType)[keyof typeof EventType];

export interface ThoughtEvent {
  type: typeof EventType.THOUGHT;
  content: string;
}

export interface ContentEvent {
  type: typeof EventType.CONTENT;
  content: string;
}

export interface ToolCallEvent {
  type: typeof EventType.TOOL_CALL;
  call: FunctionCall;
}

export interface ToolResultEvent {
  type: typeof EventType.TOOL_RESULT;
  result: FunctionResponse;
}

export interface CallCodeEvent {
  type: typeof EventType.CALL_CODE;
  code: ExecutableCode;
}

export interface CodeResultEvent {
  type: typeof EventType.CODE_RESULT;
  result: CodeExecutionResult;
}

export interface ErrorEvent {
  type: typeof EventType.ERROR;
  error: Error;
}

export interface ActivityEvent {
  type: typeof EventType.ACTIVITY;
  kind: string;
  detail: Record<string, unknown>;
}

export interface ToolConfirmationEvent {
  type: typeof EventType.TOOL_CONFIRMATION;
  confirmations: Record<string, unknown>;
}

export interface FinishedEvent {
  type: typeof EventType.FINISHED;
  output?: unknown;
}

/** A part of an event, told apart by its `type`. */
export type StructuredEvent =
  | ThoughtEvent
  | ContentEvent
  | ToolCallEvent
  | ToolResultEvent
  | CallCodeEvent
  | CodeResultEvent
  | ErrorEvent
  | ActivityEvent
  | ToolConfirmationEvent
  | FinishedEvent;

/**
 * The parts of an event, one by one, for programs that show them. Of an error event the error is all there is. Semantics:
 * `toStructuredEvents` of `@google/adk` 2.0.0.
 *
 * @example
 * for (const part of toStructuredEvents(event)) {
 *   if (part.type === EventType.TOOL_CALL) console.log(part.call.name);
 * }
 */
export function toStructuredEvents(event: Event): StructuredEvent[] {
  if (event.errorCode) {
    return [{ type: EventType.ERROR, error: new Error(event.errorMessage || event.errorCode) }];
  }
  const structured: StructuredEvent[] = [];
  for (const part of event.content?.parts ?? []) {
    const { functionCall, functionResponse, executableCode, codeExecutionResult, text, thought } = part;
    if (hasFields(functionCall)) structured.push({ type: EventType.TOOL_CALL, call: functionCall });
    else if (hasFields(functionResponse)) {
      structured.push({ type: EventType.TOOL_RESULT, result: functionResponse });
    } else if (hasFields(executableCode)) {
      structured.push({ type: EventType.CALL_CODE, code: executableCode });
    } else if (hasFields(codeExecutionResult)) {
      structured.push({ type: EventType.CODE_RESULT, result: codeExecutionResult });
    } else if (text) {
      structured.push({ type: thought ? EventType.THOUGHT : EventType.CONTENT, content: text });
    }
  }
  // Other ADKs leave `actions` out.
  const confirmations = event.actions?.requestedToolConfirmations;
  if (hasFields(confirmations)) structured.push({ type: EventType.TOOL_CONFIRMATION, confirmations });
  if (isFinalResponse(event)) structured.push({ type: EventType.FINISHED, output: undefined });
  return structured;
}

function hasFields<T extends object>(value: T | undefined): value is T {
  return value !== undefined && value !== null && Object.keys(value).length > 0;
}
