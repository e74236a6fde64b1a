import {
  CREDENTIAL_REF,
  LONGEST_ATTESTATION,
  LONGEST_REASON,
  MOST_GIVEN_BYTES,
} from '../../contract/decision-limits.ts';
import { depthProblem } from '../../contract/message-limits.ts';
import type { Confirm, ProvideCredential, ProvideInput } from '../../protocol/gate.ts';
import { InvalidTurn } from '../client-errors.ts';
import type { ConfirmOptions, ProvideCredentialOptions, ProvideInputOptions } from './approvals.ts';

type Decision<Payload> = Omit<Payload, 'v' | 'requestId' | 'callKey' | 'callId'>;

/** @throws InvalidTurn */
export function checkedConfirm(given: ConfirmOptions): Decision<Confirm> {
  const method = 'approvals.confirm';
  const { confirmed, withdraw, args, payload, reason, attestation } = fieldsOf(given, method);
  if (typeof confirmed !== 'boolean') {
    throw invalid(method, 'confirmed', 'expected true, which approves, or false, which rejects');
  }
  if (withdraw !== undefined && typeof withdraw !== 'boolean') {
    throw invalid(method, 'withdraw', 'expected true or nothing');
  }
  if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args))) {
    throw invalid(method, 'args', 'expected an object with all arguments of the call, or nothing');
  }
  if (args !== undefined && !confirmed) {
    throw invalid(method, 'args', 'a rejection has none: the call does not run');
  }
  if (reason !== undefined && typeof reason !== 'string') {
    throw invalid(method, 'reason', 'expected text or nothing');
  }
  checkAttestation(method, attestation);
  checkJson({ args, payload }, method);
  return {
    confirmed,
    ...(withdraw === true ? { withdraw } : {}),
    ...(args === undefined ? {} : { args: args as Record<string, unknown> }),
    ...(payload === undefined ? {} : { payload }),
    ...(reason === undefined ? {} : { reason: reason.slice(0, LONGEST_REASON).toWellFormed() }),
    ...(attestation === undefined ? {} : { attestation }),
  };
}

/** @throws InvalidTurn */
export function checkedInput(given: ProvideInputOptions): Decision<ProvideInput> {
  const method = 'approvals.provideInput';
  const { response, attestation } = fieldsOf(given, method);
  if (response === undefined) throw invalid(method, 'response', 'expected JSON; null is a value, too');
  checkAttestation(method, attestation);
  checkJson({ response }, method);
  return { response, ...(attestation === undefined ? {} : { attestation }) };
}

/** @throws InvalidTurn */
export function checkedCredential(given: ProvideCredentialOptions): Decision<ProvideCredential> {
  const method = 'approvals.provideCredential';
  const { credentialRef } = fieldsOf(given, method);
  if (typeof credentialRef !== 'string' || !CREDENTIAL_REF.test(credentialRef)) {
    // Never the value: it may be the secret itself.
    throw invalid(
      method,
      'credentialRef',
      'expected the credentialRef (cr-…) that credentials.put has given',
    );
  }
  return { credentialRef };
}

function checkAttestation(method: string, attestation: unknown): asserts attestation is string | undefined {
  if (attestation === undefined) return;
  if (typeof attestation !== 'string' || attestation === '') {
    throw invalid(method, 'attestation', 'expected a compact JWS or nothing');
  }
  if (attestation.length > LONGEST_ATTESTATION) {
    const problem = `${attestation.length} characters, at most ${LONGEST_ATTESTATION} are allowed`;
    throw invalid(method, 'attestation', problem);
  }
}

function fieldsOf(given: object, method: string): Record<string, unknown> {
  const value: unknown = given;
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new InvalidTurn(`${method}: expected an object with the decision`);
}

function checkJson(fields: Record<string, unknown>, method: string): void {
  for (const [field, value] of Object.entries(fields)) {
    const problem = depthProblem(value);
    if (problem !== undefined) throw invalid(method, field, problem);
  }
  const names = Object.keys(fields).join(', ');
  let bytes: number;
  try {
    bytes = Buffer.byteLength(JSON.stringify(fields));
  } catch (error) {
    const problem = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw invalid(method, names, `expected JSON: ${problem}`);
  }
  if (bytes > MOST_GIVEN_BYTES) {
    throw invalid(method, names, `${bytes} bytes of JSON, at most ${MOST_GIVEN_BYTES} are allowed`);
  }
}

function invalid(method: string, field: string, problem: string): InvalidTurn {
  return new InvalidTurn(`${method}: ${field}: ${problem}`);
}
