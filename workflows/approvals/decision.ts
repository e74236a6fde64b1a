import type { ApplicationFailure } from '@temporalio/workflow';
import type { Confirm, ProvideInput, RequestName } from '../../src/contract/approvals.ts';
import { CREDENTIAL_REF, decisionProblem } from '../../src/contract/decision-limits.ts';
import type { GateKind } from '../../src/contract/requests.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { type ProvideCredential, versionOf } from '../../src/protocol/gate.ts';
import { defined } from '../../src/protocol/json.ts';
import { CONFIRM, EXPIRE_REQUEST, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../../src/protocol/names.ts';
import { refusal, taken } from '../arguments.ts';

/** An answer to a request, with its known fields only. */
export interface CheckedDecision {
  kind: GateKind;
  name: RequestName;
  /** The session of the shown request. */
  session?: string;
  confirm?: Confirm;
  input?: ProvideInput;
  credential?: ProvideCredential;
  /** The input is text of a client that knows no other: JSON, unless the request's schema takes text. */
  isText?: true;
}

/** Type of the failure that tells of a secret where none belongs. */
export const RAW_SECRET = 'RawSecret';

/** @throws ApplicationFailure of type `InvalidDecision` */
export function checkedConfirm(given: Confirm): CheckedDecision {
  const {
    session,
    requestId,
    callKey,
    callId,
    v: _v,
    ...said
  } = taken<Confirm>(WORKFLOW_CHECKS.confirm, given, typed(CONFIRM));
  const { confirmed, withdraw, args, payload, reason, attestation } = said;
  const wrong = decisionProblem(said);
  if (wrong !== undefined) throw refusal(CONFIRM, TYPE, wrong.field, wrong.problem);
  const confirm: Confirm = {
    confirmed,
    ...(withdraw ? { withdraw } : {}),
    ...(isGiven(args) ? { args } : {}),
    ...(isGiven(payload) ? { payload } : {}),
    ...(isGiven(reason) && reason !== '' ? { reason } : {}),
    ...(isGiven(attestation) ? { attestation } : {}),
  };
  return {
    kind: 'confirmation',
    name: nameOf({ requestId, callKey, callId }),
    confirm,
    ...ofSession(session),
  };
}

/** @throws ApplicationFailure of type `InvalidDecision` */
export function checkedInput(given: ProvideInput): CheckedDecision {
  const said = taken<ProvideInput>(WORKFLOW_CHECKS.input, given, typed(PROVIDE_INPUT));
  const { response, responseRef, attestation, session } = said;
  const decision = { kind: 'input', name: nameOf(said), ...ofSession(session) } as const;
  if (isGiven(responseRef)) return { ...decision, input: { responseRef } };
  if (response === undefined) {
    throw refusal(PROVIDE_INPUT, TYPE, 'response', 'expected the answer as JSON, got nothing');
  }
  return { ...decision, input: { response, ...(isGiven(attestation) ? { attestation } : {}) } };
}

/**
 * Only a reference is taken; another value may be the secret itself, and isn't named.
 *
 * @throws ApplicationFailure of type `InvalidDecision`, or `RawSecret`
 */
export function checkedCredential(given: ProvideCredential): CheckedDecision {
  const name = checkedName(given, PROVIDE_CREDENTIAL);
  const {
    v: _v,
    requestId: _requestId,
    callKey: _callKey,
    callId: _callId,
    credentialRef,
    ...others
  } = given;
  if (Object.keys(others).length > 0) throw rawSecret();
  if (!isGiven(credentialRef)) {
    throw refusal(PROVIDE_CREDENTIAL, TYPE, 'credentialRef', 'expected a reference, got nothing');
  }
  if (typeof credentialRef !== 'string' || !CREDENTIAL_REF.test(credentialRef)) throw rawSecret();
  return { kind: 'credential', name, credential: { credentialRef } };
}

/**
 * The name of the request that is to expire. Without a name the only request is meant; a malformed name is refused.
 *
 * @throws ApplicationFailure of type `InvalidDecision`
 */
export function checkedExpiry(given: RequestName | undefined): RequestName {
  return isGiven(given) ? checkedName(given, EXPIRE_REQUEST) : {};
}

export function rawSecret(): ApplicationFailure {
  const problem =
    'only a reference to a stored credential travels through Temporal, whose history keeps what it is told: ' +
    'put the secret into the store (holdfast credentials add), and give its reference';
  return refusal(PROVIDE_CREDENTIAL, RAW_SECRET, 'credentialRef', problem);
}

/** The answer to a sensitive tool is in the store only. */
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
export function answerDigest({ confirm, input, credential }: CheckedDecision): string {
  if (confirm !== undefined) return versionOf(confirm, confirm.confirmed);
  return digestOf(input?.response ?? input?.responseRef ?? credential?.credentialRef ?? null);
}

/** Equal for decisions that are the same in each field. */
export function decisionDigest({ kind, confirm, input, credential, isText }: CheckedDecision): string {
  return digestOf([kind, confirm ?? null, input ?? null, credential ?? null, isText ?? false]);
}

const TYPE = 'InvalidDecision';

function typed(of: string): { of: string; type: 'InvalidDecision' } {
  return { of, type: TYPE };
}

function checkedName(given: RequestName, of: string): RequestName {
  return nameOf(taken<RequestName>(WORKFLOW_CHECKS.requestName, given, typed(of)));
}

function nameOf({
  requestId,
  callKey,
  callId,
}: Partial<Record<keyof RequestName, string | undefined>>): RequestName {
  return {
    ...defined({ requestId, callKey, callId }),
  };
}

function ofSession(session: string | undefined): { session?: string } {
  return defined({ session });
}

/** Null counts as absent, as other languages' serialisers write it. */
function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
