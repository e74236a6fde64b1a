import { nameProblem } from '../../contract/message-limits.ts';
import { invocationIdOf, workflowIdOf } from '../../protocol/identity.ts';
import { reservedKeyIn, reservedKeyText } from '../../protocol/reserved-state.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { InvalidTurn } from '../client-errors.ts';

/** What a turn is called in Temporal and in the store. */
export interface TurnNames {
  session: SessionNames;
  workflowId: string;
  invocationId: string;
  messageId: string;
}

/** @throws InvalidTurn */
export function turnNamesOf(session: SessionNames, messageId: string, method: string): TurnNames {
  checkBounded({ messageId }, method);
  const { app, userId, sessionId } = sessionNamesOf(session, method);
  return {
    session: { app, userId, sessionId },
    workflowId: workflowIdOf(app, userId, sessionId),
    invocationId: invocationIdOf(app, userId, sessionId, messageId),
    messageId,
  };
}

/** Only the names, of an object that may hold more. @throws InvalidTurn */
export function sessionNamesOf(given: SessionNames, method: string): SessionNames {
  const { app, userId, sessionId } = given;
  checkText({ app, userId, sessionId }, method);
  return { app, userId, sessionId };
}

/** @throws InvalidTurn */
export function workflowIdOfSession(given: SessionNames, method: string): string {
  const { app, userId, sessionId } = sessionNamesOf(given, method);
  return workflowIdOf(app, userId, sessionId);
}

/** Names of any length. @throws InvalidTurn */
export function checkText(fields: Record<string, unknown>, method: string): void {
  for (const [field, value] of Object.entries(fields)) {
    if (typeof value !== 'string' || value === '' || !value.isWellFormed()) {
      throw new InvalidTurn(`${method}: ${field}: expected a non-empty string of well-formed Unicode`);
    }
    if (value.includes('\0')) {
      throw new InvalidTurn(`${method}: ${field}: expected no NUL characters, which no database keeps`);
    }
  }
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

/** Names that travel with each message. @throws InvalidTurn */
export function checkBounded(fields: Record<string, unknown>, method: string): void {
  checkText(fields, method);
  for (const [field, value] of Object.entries(fields)) {
    const problem = nameProblem(value as string);
    if (problem !== undefined) throw new InvalidTurn(`${method}: ${field}: ${problem}`);
  }
}
