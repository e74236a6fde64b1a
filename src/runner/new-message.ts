import { InvalidTurn } from '../client/client-errors.ts';
import type { Content } from '../events/content.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../events/request-calls.ts';

const RESERVED: readonly unknown[] = [
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
];

/**
 * A message as 2.0.0 takes it: the role defaults to `user`; undefined is a run without a turn.
 *
 * @throws InvalidTurn for a function call that only the framework makes.
 */
export function checkedMessage(message: Content | undefined): Content | undefined {
  for (const { functionCall } of message?.parts ?? []) {
    if (!RESERVED.includes(functionCall?.name)) continue;
    throw new InvalidTurn(
      `A client message may not contain a '${functionCall?.name}' function call: it is raised by the framework, and can ` +
        'only be answered with a function response.',
    );
  }
  return message && { ...message, role: message.role || 'user' };
}
