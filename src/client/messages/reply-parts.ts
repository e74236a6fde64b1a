import type { ApprovalRow, GateKind } from '../../contract/requests.ts';
import type { Content, Part } from '../../events/content.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../../events/request-calls.ts';
import { callKeyOfRequest } from '../../protocol/gate.ts';
import { isRecord, parsedJson } from '../../protocol/json.ts';
import { confirmationReplyOf, type InputReply, inputReplyOf } from '../../protocol/replies.ts';
import { isSameJson } from '../same-json.ts';

/** A part of a message that answers a request, in ADK's form. */
export interface ReplyPart {
  /** Of the part. */
  index: number;
  /** Of the request, or of its call. */
  id: string | undefined;
  /** As far as its name tells. */
  kind: GateKind | undefined;
  response: Record<string, unknown>;
}

/** Names of the calls by which people are asked, and of the responses that answer. */
export const RESERVED_NAMES: Readonly<Record<GateKind, string>> = {
  confirmation: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  credential: REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  input: REQUEST_INPUT_FUNCTION_CALL_NAME,
};

const KINDS = new Map<string | undefined, GateKind>(
  Object.entries(RESERVED_NAMES).map(([kind, name]) => [name, kind as GateKind]),
);

/** The answers to requests that a message carries: by their names, or the ids of requests. */
export function replyParts(message: string | Content): ReplyPart[] {
  if (typeof message === 'string') return [];
  return (message.parts ?? []).flatMap(({ functionResponse }, index) => {
    if (!functionResponse) return [];
    const { id, name, response = {} } = functionResponse;
    const kind = KINDS.get(name);
    const isReply = kind !== undefined || (id !== undefined && callKeyOfRequest(id) !== undefined);
    return isReply ? [{ index, id, kind, response }] : [];
  });
}

/** Whether nothing of a message is left for the model. */
export function isRepliesOnly(message: string | Content | undefined): boolean {
  if (message === undefined || typeof message === 'string') return false;
  return replyParts(message).length === (message.parts ?? []).length;
}

/** Whether a message is nothing but function responses: of requests, of calls that wait for their jobs, of calls that its client answers. */
export function isResponsesOnly(message: string | Content | undefined): message is Content {
  if (message === undefined || typeof message === 'string') return false;
  const { parts = [] } = message;
  return parts.length > 0 && parts.every(({ functionResponse }) => functionResponse !== undefined);
}

/** The value that ADK's clients wrap as `{ response: '<JSON>' }`; undefined for any other. */
export function unwrappedResponse(response: Record<string, unknown>): unknown {
  const { response: text } = response;
  if (typeof text !== 'string' || Object.keys(response).length !== 1) return response;
  return parsedJson(text);
}

/** Whether a request that has ended was answered by the same. */
export function isSameReply({ response }: ReplyPart, row: ApprovalRow): boolean {
  const { kind, status } = row;
  const given = unwrappedResponse(response);
  if (kind === 'confirmation') {
    const reply = confirmationReplyOf(response);
    return !('problem' in reply) && status === (reply.confirmed ? 'approved' : 'rejected');
  }
  if (status !== 'answered') return false;
  if (kind === 'input' && isSameInput(inputReplyOf(response), row)) return true;
  if (!isRecord(given)) return false;
  if (kind === 'credential') return given.credentialRef === row.credentialRef;
  if (row.responseRef !== undefined && given.responseRef === row.responseRef) return true;
  const [only = given] = Object.keys(given).length === 1 ? Object.values(given) : [];
  return isSameJson(only, row.response) || isSameJson(given, row.response);
}

/** Text stands for what it is, or for the JSON in it. */
function isSameInput({ response, isText }: InputReply, row: ApprovalRow): boolean {
  if (isSameJson(response, row.response)) return true;
  const meant = isText ? parsedJson(String(response)) : undefined;
  return meant !== undefined && isSameJson(meant, row.response);
}

/** A message with other responses in some of its parts. */
export function withResponses(
  message: Content,
  responses: ReadonlyMap<number, Record<string, unknown>>,
): Content {
  if (responses.size === 0) return message;
  const parts = (message.parts ?? []).map((part, index): Part => {
    const response = responses.get(index);
    return response === undefined
      ? part
      : { ...part, functionResponse: { ...part.functionResponse, response } };
  });
  return { ...message, parts };
}
