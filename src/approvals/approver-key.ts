import { exportJWK, generateKeyPair } from 'jose';
import { codedError } from '../contract/error.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { isName, isPersonName, problemOfName } from '../schema/person-name.ts';
import { keyIdOf } from './attestation.ts';
import { type Issuer, type PrivateJwk, publicHalf, signingAlgorithmOf } from './issuer.ts';

/** A key for the decisions of an approver; a secret. */
export interface ApproverKey {
  v: number;
  /** Named by the attestations, and by the app's list of issuers. */
  issuer: string;
  approver: string;
  privateKey: PrivateJwk;
}

/** A text that was given as an approver's key is none. */
export class InvalidApproverKey extends codedError('HOLDFAST_INVALID_APPROVER_KEY') {}

/**
 * Makes a key (Ed25519) for one approver.
 *
 * @throws InvalidApproverKey for a text that is no person's name: at most 247 characters, none of them a control character, no
 *   spaces around it, and not `unverified`.
 * @example
 * const { key, issuer } = await createApproverKey('mira');
 * await writeFile('mira.key.json', JSON.stringify(key), { mode: 0o600 });
 * console.log(`approval: { issuers: [${JSON.stringify(issuer)}] }`);
 */
export async function createApproverKey(approver: string): Promise<{ key: ApproverKey; issuer: Issuer }> {
  const issuer = `approver:${approver}`;
  const problem = problemOfName(approver) ?? problemOfName(issuer);
  if (problem !== undefined) throw new InvalidApproverKey(`approver: ${problem}`);
  const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const made = (await exportJWK(pair.privateKey)) as PrivateJwk;
  const kid = await keyIdOf(made);
  const privateKey = { ...publicHalf(made), kid, alg: 'EdDSA', d: made.d };
  const key = { v: 1, issuer, approver, privateKey };
  return { key, issuer: issuerOf(key) };
}

/** The entry with which an app trusts the key. */
export function issuerOf({ issuer, approver, privateKey }: ApproverKey): Issuer {
  return { issuer, approver, key: { ...publicHalf(privateKey), alg: signingAlgorithmOf(privateKey) ?? '' } };
}

/**
 * Reads what {@link createApproverKey} has made, as JSON.
 *
 * @throws InvalidApproverKey naming the field, and never quoting it.
 */
export function parseApproverKey(json: string): ApproverKey {
  let key: unknown;
  try {
    key = JSON.parse(json);
  } catch {
    throw new InvalidApproverKey("an approver's key is JSON, and this is none");
  }
  if (!isRecord(key)) throw new InvalidApproverKey(`an approver's key is an object, got ${kindOf(key)}`);
  const { issuer, approver, privateKey } = key;
  if (!isName(issuer)) throw new InvalidApproverKey(`issuer: expected a name, got ${kindOf(issuer)}`);
  if (!isPersonName(approver)) throw new InvalidApproverKey(`approver: ${problemOfName(approver)}`);
  return { v: 1, issuer, approver, privateKey: privateKeyOf(privateKey) };
}

function privateKeyOf(key: unknown): PrivateJwk {
  if (!isRecord(key)) throw new InvalidApproverKey(`privateKey: expected a JWK, got ${kindOf(key)}`);
  const { kty, crv, x, y, d, kid } = key;
  const isWhole = isText(kty) && isText(crv) && isText(x) && isText(d) && (y === undefined || isText(y));
  if (!isWhole || (kid !== undefined && !isText(kid)) || signingAlgorithmOf({ kty, crv }) === undefined) {
    throw new InvalidApproverKey('privateKey: expected a private JWK of Ed25519 or P-256');
  }
  return {
    ...publicHalf({ kty, crv, x, ...defined({ y, kid }) }),
    d,
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
