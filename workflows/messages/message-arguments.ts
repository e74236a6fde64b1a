import { isObject, shapeOf } from '../../src/contract/check.ts';
import { LONGEST_ATTESTATION } from '../../src/contract/decision-limits.ts';
import { jsonBytes } from '../../src/contract/json-bytes.ts';
import {
  isTooDeep,
  nameProblem,
  responseFormProblem,
  runConfigProblem,
  tooDeepText,
} from '../../src/contract/message-limits.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { Interrupt, MessagePolicy, SendMessage, StoredMessage } from '../../src/protocol/message.ts';
import type { TurnRunConfig } from '../../src/protocol/run-terms.ts';
import { PAYLOAD_LIMIT } from '../../src/protocol/sizes.ts';
import { type Refuse, refusal } from '../arguments.ts';

const POLICIES: ReadonlySet<MessagePolicy | undefined> = new Set([
  undefined,
  'enqueue',
  'interrupt',
  'reject',
]);

/** @throws ApplicationFailure of type `InvalidMessage` */
export function checkedMessage(given: SendMessage): SendMessage {
  const refuse: Refuse = (field, problem) => refusal('sendMessage', 'InvalidMessage', field, problem);
  if (!isObject(given)) throw refuse('arguments', `expected one object, got ${shapeOf(given)}`);
  const message = withoutNulls(given);
  if (message.messageId === undefined) {
    throw refuse(
      'messageId',
      'expected a non-empty string: one message id is one turn, however often it is sent',
    );
  }
  if (!POLICIES.has(message.policy)) {
    throw refuse('policy', "expected 'enqueue', 'interrupt', 'reject' or nothing");
  }
  checkMessage(message, refuse);
  if (message.message === undefined && message.stored === undefined) checkContent(undefined, refuse);
  return message;
}

/** @throws ApplicationFailure of type `InvalidInterrupt` */
export function checkedInterrupt(given: Interrupt): Interrupt {
  const refuse: Refuse = (field, problem) => refusal('interrupt', 'InvalidInterrupt', field, problem);
  if (!isObject(given)) throw refuse('arguments', `expected one object or nothing, got ${shapeOf(given)}`);
  const order = dropNulls(given);
  const { invocationId } = order;
  if (invocationId !== undefined && typeof invocationId !== 'string') {
    throw refuse('invocationId', `expected an invocation's id or nothing, got ${shapeOf(invocationId)}`);
  }
  return order;
}

/** What a start and a message have in common; a start may have no content. */
export function checkMessage({ message, stateDelta, ...others }: Partial<SendMessage>, refuse: Refuse): void {
  checkFields({ stateDelta, ...others }, refuse);
  if (isTooDeep(others)) throw refuse('arguments', `${tooDeepText()}: send flatter content`);
  if (isTooDeep([message, stateDelta])) {
    throw refuse('message', `${tooDeepText()}, with its stateDelta: send flatter content`);
  }
  if (message !== undefined) checkContent(message, refuse);
  const bytes = jsonBytes([message, stateDelta]);
  if (bytes <= PAYLOAD_LIMIT) return;
  throw refuse(
    'message',
    `${bytes} bytes of JSON with its stateDelta, at most ${PAYLOAD_LIMIT} travel through Temporal: ` +
      'send it by a HoldfastClient with a store, or by the gateway, which put it into the store first',
  );
}

function checkFields(message: Omit<Partial<SendMessage>, 'message'>, refuse: Refuse): void {
  if (message.v !== undefined && (typeof message.v !== 'number' || message.v > PROTOCOL_VERSION)) {
    throw refuse('v', `this worker speaks version ${PROTOCOL_VERSION}; deploy a newer worker`);
  }
  for (const field of ['agent', 'messageId'] as const) {
    const value = message[field];
    if (value !== undefined && (typeof value !== 'string' || value === '')) {
      throw refuse(field, `expected a non-empty string or nothing, got ${shapeOf(value)}`);
    }
    const problem = nameProblem(value ?? '');
    if (problem !== undefined) throw refuse(field, problem);
  }
  checkStored(message.stored, refuse);
  checkAttestation(message.attestation, refuse);
  checkPriority(message.priority, refuse);
  checkRecord('stateDelta', message.stateDelta, refuse);
  checkRecord('runConfig', message.runConfig, refuse);
  const maxLlmCalls = message.runConfig?.maxLlmCalls;
  if (maxLlmCalls !== undefined && !Number.isSafeInteger(maxLlmCalls)) {
    throw refuse('runConfig.maxLlmCalls', `expected a whole number, got ${shapeOf(maxLlmCalls)}`);
  }
  const streamingMode = message.runConfig?.streamingMode;
  if (streamingMode !== undefined && streamingMode !== 'none' && streamingMode !== 'sse') {
    throw refuse('runConfig.streamingMode', "expected 'none', 'sse' or nothing");
  }
  const wrong = runConfigProblem(message.runConfig ?? {}, jsonBytes);
  if (wrong !== undefined) throw refuse(wrong.field, wrong.problem);
}

/** It travels beside the message, whose size is measured without it. */
function checkAttestation(attestation: unknown, refuse: Refuse): void {
  if (attestation === undefined) return;
  if (typeof attestation === 'string' && attestation.length <= LONGEST_ATTESTATION) return;
  const problem =
    typeof attestation === 'string'
      ? `${attestation.length} characters, at most ${LONGEST_ATTESTATION} are allowed`
      : `expected a compact JWS or nothing, got ${shapeOf(attestation)}`;
  throw refuse('attestation', problem);
}

export const PRIORITY_TEXT = 'expected a whole number from 1, which goes first, to 5, or nothing';

export function isPriority(given: unknown): given is number {
  return Number.isInteger(given) && Number(given) >= 1 && Number(given) <= 5;
}

function checkPriority(priority: unknown, refuse: Refuse): void {
  if (priority !== undefined && !isPriority(priority)) throw refuse('priority', PRIORITY_TEXT);
}

function checkStored(stored: StoredMessage | undefined, refuse: Refuse): void {
  if (stored === undefined) return;
  if (!isObject(stored) || typeof stored.digest !== 'string' || typeof stored.bytes !== 'number') {
    throw refuse('stored', `expected { digest, bytes } or nothing, got ${shapeOf(stored)}`);
  }
}

/** Null counts as absent, as other languages' serialisers write it; a run config has its known fields only. */
export function withoutNulls<T extends Pick<SendMessage, 'message' | 'runConfig'>>(given: T): T {
  const start = dropNulls(given);
  if (start.runConfig !== undefined && isObject(start.runConfig)) {
    const { maxLlmCalls, streamingMode, pauseOnToolCalls, customMetadata }: TurnRunConfig = start.runConfig;
    start.runConfig = dropNulls({
      ...(maxLlmCalls === undefined ? {} : { maxLlmCalls }),
      ...(streamingMode === undefined ? {} : { streamingMode }),
      ...(pauseOnToolCalls === undefined ? {} : { pauseOnToolCalls }),
      ...(customMetadata === undefined ? {} : { customMetadata }),
    });
  }
  if (isObject(start.message)) {
    const message = dropNulls(start.message);
    if (Array.isArray(message.parts)) {
      message.parts = message.parts.map((part: unknown) =>
        isObject(part) ? dropNulls(part) : part,
      ) as typeof message.parts;
    }
    start.message = message;
  }
  return start;
}

function dropNulls<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null)) as T;
}

function checkContent(message: SendMessage['message'], refuse: Refuse): void {
  if (typeof message === 'string') {
    if (message.trim() === '') throw refuse('message', 'expected text, got an empty string');
    return;
  }
  if (typeof message !== 'object' || message === null) {
    throw refuse('message', `expected text or a Content { role, parts }, got ${shapeOf(message)}`);
  }
  if (!Array.isArray(message.parts) || message.parts.length === 0) {
    throw refuse('message.parts', `expected at least one part, got ${shapeOf(message.parts)}`);
  }
  message.parts.forEach((part: unknown, index) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part) || Object.keys(part).length === 0) {
      throw refuse(
        `message.parts[${index}]`,
        `expected a part with at least one field, got ${shapeOf(part)}`,
      );
    }
  });
  if (message.role !== undefined && message.role !== 'user') {
    throw refuse('message.role', "expected 'user' or nothing");
  }
  if (message.parts.some(({ functionCall }) => functionCall !== undefined)) {
    throw refuse('message.parts', 'a message carries no function calls');
  }
  const responses = message.parts.flatMap(({ functionResponse }) => functionResponse ?? []);
  const problem = responses.map(responseFormProblem).find((found) => found !== undefined);
  if (problem !== undefined) throw refuse('message.parts', problem);
}

function checkRecord(field: string, value: unknown, refuse: Refuse): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuse(field, `expected an object or nothing, got ${shapeOf(value)}`);
  }
}
