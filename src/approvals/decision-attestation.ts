import type { Confirm } from '../contract/approvals.ts';
import { isName } from '../schema/person-name.ts';
import {
  type Attested,
  CLOCK_TOLERANCE,
  missing,
  readAttestation,
  type SigningOptions,
  signAttestation,
} from './attestation.ts';
import type { Issuer, PrivateJwk } from './issuer.ts';

const TYPE = 'holdfast-decision+jwt';

export type Decision = 'approve' | 'reject' | 'withdraw';

/** The subject of a decision. Digests are those of `digestOf`: SHA-256 of the canonical JSON. */
export interface AttestedDecision {
  /**
   * The store's id of the request's session, `ApprovalRow.session`. A session that is deleted and made again asks the same
   * message's requests by the same ids, and so does one of the same names in another store.
   */
  session: string;
  requestId: string;
  /** Of the arguments that were shown. */
  argsDigest: string;
  decision: Decision;
  /** Of those that are to run in their place. */
  editedArgsDigest?: string;
  /** Of `Confirm.payload`. */
  payloadDigest?: string;
  /** Of `ProvideInput.response`. */
  responseDigest?: string;
}

/** Facts that an attestation must be over, and the latest time of its signature. */
export interface ExpectedDecision extends AttestedDecision {
  /** Milliseconds since the epoch when the request expires: a decision that was signed later doesn't count. Defaults to never. */
  until?: number | undefined;
}

/** Claims of an attestation of a decision. */
export interface DecisionClaims extends AttestedDecision {
  issuer: string;
  approver: string;
  /** Where the decision was made: `cli`, `slack`, … */
  channel: string;
}

/**
 * Signs a decision. Only who has the key can do so, and it holds for this request, these arguments and this decision only.
 *
 * @returns a compact JWS, for `Confirm.attestation`.
 * @throws TypeError for a key that is neither Ed25519 nor P-256.
 * @example
 * const attestation = await signDecision(
 *   { issuer, approver: 'mira', session, requestId, argsDigest, decision: 'approve', channel: 'cli' },
 *   privateKey,
 * );
 */
export function signDecision(
  claims: DecisionClaims,
  key: PrivateJwk,
  options?: SigningOptions,
): Promise<string> {
  const { issuer, approver: principal, ...said } = claims;
  return signAttestation(TYPE, { issuer, principal }, { ...said }, key, options);
}

/**
 * Whether an attestation is over exactly this decision, by an issuer that the app lists.
 *
 * @param now milliseconds since the epoch, when the decision came.
 */
export async function verifyDecisionAttestation(
  jws: string,
  expected: ExpectedDecision,
  issuers: readonly Issuer[],
  now: number,
): Promise<Attested> {
  const read = await readAttestation(jws, TYPE, issuers, now);
  if (!('claims' in read)) return { ok: false, ...read };
  const { by, signature, claims, issuer } = read;
  const reason = channelRefusal(claims, issuer) ?? mismatch(claims, expected) ?? lateness(claims, expected);
  return reason === undefined ? { ok: true, by, signature } : { ok: false, reason, by, signature };
}

/** Which of the three a decision is. */
export function decisionOf({ confirmed, withdraw }: Pick<Confirm, 'confirmed' | 'withdraw'>): Decision {
  if (withdraw) return 'withdraw';
  return confirmed ? 'approve' : 'reject';
}

function channelRefusal(claims: Record<string, unknown>, { channels }: Issuer): string | undefined {
  const { channel } = claims;
  if (!isName(channel)) return missing('channel');
  return channels === undefined || channels.includes(channel)
    ? undefined
    : 'the key of the attestation may not speak for decisions of its channel';
}

/** `iat` is in seconds. */
function lateness({ iat }: Record<string, unknown>, { until }: ExpectedDecision): string | undefined {
  const signedAt = Number(iat) - CLOCK_TOLERANCE;
  return until !== undefined && signedAt * 1_000 > until
    ? 'the attestation was signed after the request had expired'
    : undefined;
}

function mismatch(claims: Record<string, unknown>, expected: AttestedDecision): string | undefined {
  for (const claim of ['session', 'requestId', 'argsDigest', 'decision']) {
    if (typeof claims[claim] !== 'string') return missing(claim);
  }
  if (claims.requestId !== expected.requestId) return 'the attestation is for another request';
  if (claims.session !== expected.session) return 'the attestation is for a request of another session';
  if (claims.argsDigest !== expected.argsDigest) return 'the attestation is for other arguments';
  if (claims.decision !== expected.decision) return 'the attestation is for another decision';
  if (claims.editedArgsDigest !== expected.editedArgsDigest) {
    return 'the attestation is for other edited arguments';
  }
  if (claims.payloadDigest !== expected.payloadDigest) return 'the attestation is for another payload';
  if (claims.responseDigest !== expected.responseDigest) return 'the attestation is for another response';
  return undefined;
}
