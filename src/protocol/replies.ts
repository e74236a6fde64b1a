import { defined, isRecord, parsedJson } from './json.ts';

/** A function response in the form of `@google/adk` that answers a question. */
export interface InputReply {
  response: unknown;
  /** Text of a client that knows no other: JSON, unless the request's schema takes text. */
  isText: boolean;
}

export function inputReplyOf(functionResponse: Record<string, unknown>): InputReply {
  const { given } = unwrappedReply(functionResponse);
  const [key, ...others] = Object.keys(given);
  const isWrapped = others.length === 0 && (key === 'payload' || key === 'result' || key === 'response');
  const response = isWrapped ? given[key as string] : given;
  return { response, isText: typeof response === 'string' };
}

/** ADK's web client sends the JSON of a response as the only field of another one. */
export function unwrappedReply(response: Record<string, unknown>): {
  given: Record<string, unknown>;
  isMalformed: boolean;
} {
  const [key, ...others] = Object.keys(response);
  if (key !== 'response' || others.length > 0) return { given: response, isMalformed: false };
  const { response: text } = response;
  const parsed = typeof text === 'string' ? parsedJson(text) : text;
  return isRecord(parsed) ? { given: parsed, isMalformed: false } : { given: response, isMalformed: true };
}

/** A function response in the form of `@google/adk` that decides an approval. */
interface ConfirmationReply {
  confirmed: boolean;
  payload?: unknown;
}

/** The wrong field of the function response, and its problem. */
interface MalformedReply {
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
  return { confirmed, ...defined({ payload }) };
}
