import type { FunctionCall } from '../events/content.ts';
import { createEventActions, type EventActions, ToolConfirmation } from '../events/event-actions.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../events/request-calls.ts';
import { defined } from '../protocol/json.ts';
import type { NewRequest } from '../store/approvals/approval-store.ts';
import type { DraftEvent } from '../store/sessions/session-store.ts';

type Request = Pick<
  NewRequest,
  'requestId' | 'kind' | 'callId' | 'tool' | 'args' | 'hint' | 'payload' | 'responseSchema' | 'authConfig'
>;

/**
 * The event by which calls ask people: one call with a reserved name for each request, under the request's id, in the given order.
 * Semantics: `generateRequestConfirmationEvent`, `generateAuthEvent` and `createRequestInputEvent` of `@google/adk` 2.0.0.
 *
 * @param by of the event of the calls that ask.
 */
export function requestEvent(
  requests: readonly Request[],
  by: Pick<DraftEvent, 'invocationId' | 'author' | 'branch'>,
): DraftEvent {
  const { invocationId, author, branch } = by;
  return {
    invocationId,
    ...defined({ author, branch }),
    content: { role: 'user', parts: requests.map((request) => ({ functionCall: questionOf(request) })) },
    longRunningToolIds: requests.map(({ requestId }) => requestId),
    actions: actionsOf(requests),
  };
}

function questionOf(request: Request): FunctionCall {
  const { requestId: id, kind, callId, tool, args, hint, payload, responseSchema, authConfig } = request;
  if (kind === 'credential') {
    return {
      id,
      name: REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
      args: { function_call_id: callId, auth_config: authConfig ?? null },
    };
  }
  if (kind === 'input') {
    return {
      id,
      name: REQUEST_INPUT_FUNCTION_CALL_NAME,
      args: {
        interruptId: id,
        message: hint,
        payload: payload ?? null,
        response_schema: responseSchema ?? null,
      },
    };
  }
  return {
    id,
    name: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    args: {
      originalFunctionCall: { id: callId, name: tool, args },
      toolConfirmation: { ...confirmationOf(request) },
    },
  };
}

function actionsOf(requests: readonly Request[]): EventActions {
  const actions = createEventActions();
  for (const request of requests) {
    const { kind, callId, authConfig } = request;
    if (kind === 'confirmation') actions.requestedToolConfirmations[callId] = { ...confirmationOf(request) };
    if (kind === 'credential' && authConfig !== undefined)
      actions.requestedAuthConfigs[callId] = authConfig as EventActions['requestedAuthConfigs'][string];
  }
  return actions;
}

function confirmationOf({ hint, payload }: Request): ToolConfirmation {
  return new ToolConfirmation({ hint, confirmed: false, payload });
}
