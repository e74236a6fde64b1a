import { SESSION_NAMES } from '../../contract/fields.ts';
import { MESSAGE_NAMES } from '../../contract/messages.ts';
import { invocationIdOf, workflowIdOf } from '../../protocol/identity.ts';
import { reservedKeyIn, reservedKeyText } from '../../protocol/reserved-state.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { checkedFields } from '../checked-input.ts';
import { InvalidTurn } from '../client-errors.ts';

/** Names of a turn in Temporal and in the store. */
export interface TurnNames {
  session: SessionNames;
  workflowId: string;
  invocationId: string;
  messageId: string;
}

/** @throws InvalidTurn */
export function turnNamesOf(session: SessionNames, messageId: string, method: string): TurnNames {
  const { app, userId, sessionId } = checkedFields(MESSAGE_NAMES, { ...session, messageId }, method);
  return {
    session: { app, userId, sessionId },
    workflowId: workflowIdOf(app, userId, sessionId),
    invocationId: invocationIdOf(app, userId, sessionId, messageId),
    messageId,
  };
}

/** Only the names, of an object that may hold more. @throws InvalidTurn */
export function sessionNamesOf(given: SessionNames, method: string): SessionNames {
  return checkedFields(SESSION_NAMES, given, method);
}

/** @throws InvalidTurn */
export function workflowIdOfSession(given: SessionNames, method: string): string {
  const { app, userId, sessionId } = sessionNamesOf(given, method);
  return workflowIdOf(app, userId, sessionId);
}

/** State that somebody writes. @throws InvalidTurn for a key that is reserved for Holdfast. */
export function checkState(
  fields: Record<string, Readonly<Record<string, unknown>> | null | undefined>,
  method: string,
): void {
  for (const [field, state] of Object.entries(fields)) {
    const reserved = reservedKeyIn(state);
    if (reserved !== undefined) throw new InvalidTurn(`${method}: ${field}: ${reservedKeyText(reserved)}`);
  }
}
