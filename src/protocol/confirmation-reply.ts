import { unwrappedReply } from './input-reply.ts';

/** What a function response in the form of `@google/adk` says to an approval. */
export interface ConfirmationReply {
  confirmed: boolean;
  payload?: unknown;
}

/** What is wrong with one, and where in the function response. */
export interface MalformedReply {
  field: string;
  problem: string;
}

export function confirmationReplyOf(
  functionResponse: Record<string, unknown>,
): ConfirmationReply | MalformedReply {
  const { given, isMalformed } = unwrappedReply(functionResponse);
  if (isMalformed) {
    return {
      field: 'response.response',
      problem: 'expected the JSON of { confirmed: true or false, payload? }, and got none',
    };
  }
  const { confirmed, payload } = given;
  if (typeof confirmed !== 'boolean') {
    const got = confirmed === undefined ? 'nothing' : confirmed === null ? 'null' : typeof confirmed;
    return {
      field: 'response.confirmed',
      problem: `expected true or false in { confirmed, payload? }, got ${got}`,
    };
  }
  return { confirmed, ...(payload === undefined ? {} : { payload }) };
}
