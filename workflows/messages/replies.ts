import { shapeOf } from '../../src/contract/check.ts';
import { RESPONSE_REF } from '../../src/contract/decision-limits.ts';
import type { Content, FunctionResponse, Part } from '../../src/events/content.ts';
import {
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from '../../src/events/reserved-calls.ts';
import { confirmationReplyOf } from '../../src/protocol/confirmation-reply.ts';
import { type GateKind, REQUEST_PREFIX, type RequestName } from '../../src/protocol/gate.ts';
import { inputReplyOf, unwrappedReply } from '../../src/protocol/input-reply.ts';
import { SEND_MESSAGE } from '../../src/protocol/names.ts';
import {
  checkedConfirm,
  checkedCredential,
  checkedInput,
  type Decision,
} from '../approvals/decision-arguments.ts';
import { refusal } from '../arguments.ts';

const KIND_OF_NAME: ReadonlyMap<string | undefined, GateKind> = new Map([
  [REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, 'confirmation'],
  [REQUEST_INPUT_FUNCTION_CALL_NAME, 'input'],
  [REQUEST_CREDENTIAL_FUNCTION_CALL_NAME, 'credential'],
]);

/** A message without what answers requests, and that. */
export interface SplitMessage {
  replies: FunctionResponse[];
  /** Absent where nothing else was said. */
  rest?: string | Content;
}

/**
 * Takes the parts out of a message that answer requests to people.
 *
 * @param isRequest whether the id of a function response means a request, whatever its name.
 */
export function splitMessage(
  message: string | Content | undefined,
  isRequest: (id: string) => boolean,
): SplitMessage {
  if (message === undefined) return { replies: [] };
  if (typeof message === 'string') return { replies: [], rest: message };
  const { parts = [] } = message;
  const replies = parts.flatMap((part) => replyOf(part, isRequest) ?? []);
  if (replies.length === 0) return { replies, rest: message };
  const others = parts.filter((part) => replyOf(part, isRequest) === undefined);
  return { replies, ...(others.length === 0 ? {} : { rest: { ...message, parts: others } }) };
}

/** A message without what answers calls that have jobs, and that. */
export interface MessageOfJobs {
  responses: FunctionResponse[];
  /** Absent where nothing else was said. */
  rest?: string | Content;
}

/** @param hasJob whether a response of this id is one to a call that has a job, or may have one. */
export function withoutResponses(
  message: string | Content | undefined,
  hasJob: (id: string) => boolean,
): MessageOfJobs {
  if (message === undefined || typeof message === 'string') return { responses: [], ...restField(message) };
  const isResponse = ({ functionResponse }: Part) =>
    typeof functionResponse?.id === 'string' && hasJob(functionResponse.id);
  const { parts = [] } = message;
  const responses = parts.flatMap((part) => (isResponse(part) ? (part.functionResponse ?? []) : []));
  if (responses.length === 0) return { responses, rest: message };
  const others = parts.filter((part) => !isResponse(part));
  return { responses, ...(others.length === 0 ? {} : { rest: { ...message, parts: others } }) };
}

function restField<Rest>(rest: Rest | undefined): { rest?: Rest } {
  return rest === undefined ? {} : { rest };
}

function replyOf(
  { functionResponse }: Part,
  isRequest: (id: string) => boolean,
): FunctionResponse | undefined {
  const { name, id } = functionResponse ?? {};
  if (KIND_OF_NAME.has(name) || (typeof id === 'string' && isRequest(id))) return functionResponse;
  return undefined;
}

/**
 * What a reply in the form of `@google/adk` says.
 *
 * @throws ApplicationFailure where it is malformed or too large, has a secret in it, or an id that is no text.
 */
export function decisionOf(
  { id, name, response = {} }: FunctionResponse,
  requests: { kindOf(name: RequestName): GateKind | undefined },
): Decision {
  const which = nameOf(id);
  const kind = KIND_OF_NAME.get(name) ?? requests.kindOf(which) ?? 'confirmation';
  if (kind === 'credential') {
    const { given } = unwrappedReply(response);
    return checkedCredential({ ...which, ...given } as Parameters<typeof checkedCredential>[0]);
  }
  if (kind === 'input') return inputOf(which, response);
  const reply = confirmationReplyOf(response);
  if (!('problem' in reply)) return checkedConfirm({ ...which, ...reply });
  const problem = `${reply.problem}; the request stays open`;
  throw refusal(SEND_MESSAGE, 'InvalidDecision', `functionResponse.${reply.field}`, problem);
}

/**
 * What a reply names by its id, which may be anything that a client sends; null counts as none.
 *
 * @throws ApplicationFailure of type `InvalidDecision` where the id is no text: it must not mean the only request.
 */
function nameOf(id: unknown): RequestName {
  if (id === undefined || id === null || id === '') return {};
  if (typeof id !== 'string') {
    const problem = `expected the id of the request as text, got ${shapeOf(id)}`;
    throw refusal(SEND_MESSAGE, 'InvalidDecision', 'functionResponse.id', problem);
  }
  return id.startsWith(REQUEST_PREFIX) ? { requestId: id } : { callId: id };
}

function inputOf(which: RequestName, functionResponse: Record<string, unknown>): Decision {
  const { responseRef, ...others } = functionResponse;
  if (typeof responseRef === 'string' && RESPONSE_REF.test(responseRef) && Object.keys(others).length === 0)
    return checkedInput({ ...which, responseRef });
  const { response, isText } = inputReplyOf(functionResponse);
  const decision = checkedInput({ ...which, response });
  return isText ? { ...decision, isText } : decision;
}
