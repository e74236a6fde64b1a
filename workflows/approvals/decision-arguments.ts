import type { ApplicationFailure } from '@temporalio/workflow';
import { isObject, shapeOf } from '../../src/contract/check.ts';
import {
  CREDENTIAL_REF,
  LONGEST_ATTESTATION,
  LONGEST_REASON,
  MOST_GIVEN_BYTES,
  RESPONSE_REF,
} from '../../src/contract/decision-limits.ts';
import { jsonBytes } from '../../src/contract/json-bytes.ts';
import { isTooDeep, tooDeepText } from '../../src/contract/message-limits.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { versionOf } from '../../src/protocol/decision-version.ts';
import type {
  Confirm,
  GateKind,
  ProvideCredential,
  ProvideInput,
  RequestName,
} from '../../src/protocol/gate.ts';
import { CONFIRM, EXPIRE_REQUEST, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../../src/protocol/names.ts';
import { type Refuse, refusal } from '../arguments.ts';

/** What somebody says to a request, with its known fields only. */
export interface Decision {
  kind: GateKind;
  name: RequestName;
  /** Of the request that was shown. */
  session?: string;
  confirm?: Confirm;
  input?: ProvideInput;
  credential?: ProvideCredential;
  /** The input is text of a client that knows no other: JSON, unless the request's schema takes text. */
  isText?: true;
}

const LONGEST_REQUEST_NAME = 1_000;

/** Type of the failure that tells of a secret where none belongs. */
export const RAW_SECRET = 'RawSecret';

/** @throws ApplicationFailure of type `InvalidDecision` */
export function checkedConfirm(given: Confirm): Decision {
  const refuse = refuseOf(CONFIRM);
  const name = checkedName(given, refuse);
  const { confirmed, withdraw, args, payload, reason, attestation } = given;
  if (typeof confirmed !== 'boolean') {
    throw refuse('confirmed', `expected true or false, got ${shapeOf(confirmed)}`);
  }
  if (withdraw !== undefined && withdraw !== null && typeof withdraw !== 'boolean') {
    throw refuse('withdraw', `expected true or nothing, got ${shapeOf(withdraw)}`);
  }
  if (isGiven(args) && !isObject(args)) {
    throw refuse('args', `expected an object or nothing, got ${shapeOf(args)}`);
  }
  if (isGiven(args) && !confirmed) throw refuse('args', 'a rejection changes no arguments: leave them out');
  checkText('reason', reason, LONGEST_REASON, refuse);
  checkText('attestation', attestation, LONGEST_ATTESTATION, refuse);
  checkSize('args', [args, payload], refuse);
  const confirm: Confirm = {
    confirmed,
    ...(withdraw ? { withdraw } : {}),
    ...(isGiven(args) ? { args } : {}),
    ...(isGiven(payload) ? { payload } : {}),
    ...(isGiven(reason) && reason !== '' ? { reason } : {}),
    ...(isGiven(attestation) ? { attestation } : {}),
  };
  return { kind: 'confirmation', name, confirm, ...checkedSession(given, refuse) };
}

/** @throws ApplicationFailure of type `InvalidDecision` */
export function checkedInput(given: ProvideInput): Decision {
  const refuse = refuseOf(PROVIDE_INPUT);
  const name = checkedName(given, refuse);
  const { response, responseRef, attestation } = given;
  const session = checkedSession(given, refuse);
  if (isGiven(responseRef)) {
    return { kind: 'input', name, input: { responseRef: checkedRef(responseRef) }, ...session };
  }
  if (response === undefined) throw refuse('response', 'expected the answer as JSON, got nothing');
  checkSize('response', response, refuse);
  checkText('attestation', attestation, LONGEST_ATTESTATION, refuse);
  const input = { response, ...(isGiven(attestation) ? { attestation } : {}) };
  return { kind: 'input', name, input, ...session };
}

/** What is no reference may be the answer itself, and isn't quoted. */
function checkedRef(responseRef: unknown): string {
  if (typeof responseRef === 'string' && RESPONSE_REF.test(responseRef)) return responseRef;
  const problem = 'expected a reference to an answer in the store, ri-…, as the client makes it';
  throw refuseOf(PROVIDE_INPUT)('responseRef', problem);
}

/**
 * Nothing but a reference is taken; what else is there may be the secret itself, and isn't named.
 *
 * @throws ApplicationFailure of type `InvalidDecision`, or `RawSecret`
 */
export function checkedCredential(given: ProvideCredential): Decision {
  const refuse = refuseOf(PROVIDE_CREDENTIAL);
  const name = checkedName(given, refuse);
  const {
    v: _v,
    requestId: _requestId,
    callKey: _callKey,
    callId: _callId,
    credentialRef,
    ...others
  } = given;
  if (Object.keys(others).length > 0) throw rawSecret();
  if (!isGiven(credentialRef)) throw refuse('credentialRef', 'expected a reference, got nothing');
  if (typeof credentialRef !== 'string' || !CREDENTIAL_REF.test(credentialRef)) throw rawSecret();
  return { kind: 'credential', name, credential: { credentialRef } };
}

/**
 * Which request is to expire: nothing means the only one, and what is malformed means none.
 *
 * @throws ApplicationFailure of type `InvalidDecision`
 */
export function checkedExpiry(given: RequestName | undefined): RequestName {
  return isGiven(given) ? checkedName(given, refuseOf(EXPIRE_REQUEST)) : {};
}

export function rawSecret(): ApplicationFailure {
  const problem =
    'only a reference to a stored credential travels through Temporal, whose history keeps what it is told: ' +
    'put the secret into the store (holdfast credentials add), and give its reference';
  return refusal(PROVIDE_CREDENTIAL, RAW_SECRET, 'credentialRef', problem);
}

/** What answers a sensitive tool is the store's alone. */
export function rawResponse(): ApplicationFailure {
  const problem =
    'the tool that asks is sensitive, and the history of Temporal keeps what it is told: answer by the client, the gateway or ' +
    'the command line, which put the answer into the store and send a reference to it';
  return refusal(PROVIDE_INPUT, RAW_SECRET, 'response', problem);
}

/** A sensitive argument that somebody would change. */
export function rawArgument(name: string): ApplicationFailure {
  const problem =
    `the argument ${name} is sensitive, and the history of Temporal keeps what it is told: leave it out, and it stays as it is, ` +
    'or reject the call';
  return refusal(CONFIRM, RAW_SECRET, 'args', problem);
}

/** Equal for decisions that say the same of a request, for every sender and reason. */
export function answerOf({ confirm, input, credential }: Decision): string {
  if (confirm !== undefined) return versionOf(confirm, confirm.confirmed);
  return digestOf(input?.response ?? input?.responseRef ?? credential?.credentialRef ?? null);
}

/** Equal for decisions that are the same in each field. */
export function wordsOf({ kind, confirm, input, credential, isText }: Decision): string {
  return digestOf([kind, confirm ?? null, input ?? null, credential ?? null, isText ?? false]);
}

function refuseOf(of: string): Refuse {
  return (field, problem) => refusal(of, 'InvalidDecision', field, problem);
}

function checkedName(given: RequestName & { v?: number }, refuse: Refuse): RequestName {
  if (!isObject(given)) throw refuse('arguments', `expected one object, got ${shapeOf(given)}`);
  if (isGiven(given.v) && (typeof given.v !== 'number' || given.v > PROTOCOL_VERSION)) {
    throw refuse('v', `this worker speaks version ${PROTOCOL_VERSION}; deploy a newer worker`);
  }
  const name: RequestName = {};
  for (const field of ['requestId', 'callKey', 'callId'] as const) {
    const value = given[field];
    if (!isGiven(value)) continue;
    if (typeof value !== 'string' || value === '' || value.length > LONGEST_REQUEST_NAME) {
      throw refuse(field, `expected a non-empty string or nothing, got ${shapeOf(value)}`);
    }
    name[field] = value;
  }
  return name;
}

function checkedSession({ session }: { session?: string }, refuse: Refuse): { session?: string } {
  checkText('session', session, LONGEST_REQUEST_NAME, refuse);
  return isGiven(session) ? { session } : {};
}

/** Null counts as absent, as other languages' serialisers write it. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}

function checkText(field: string, value: unknown, longest: number, refuse: Refuse): void {
  if (!isGiven(value)) return;
  if (typeof value !== 'string') throw refuse(field, `expected text or nothing, got ${shapeOf(value)}`);
  if (value.length > longest) {
    throw refuse(field, `${value.length} characters, at most ${longest} are allowed`);
  }
}

function checkSize(field: string, value: unknown, refuse: Refuse): void {
  if (isTooDeep(value)) {
    throw refuse(field, `${tooDeepText()}: send flatter content`);
  }
  const bytes = jsonBytes(value);
  if (bytes <= MOST_GIVEN_BYTES) return;
  throw refuse(field, `${bytes} bytes of JSON, at most ${MOST_GIVEN_BYTES} are allowed`);
}
