import { defined } from '../protocol/json.ts';
import type { PublicJwk } from '../protocol/public-jwk.ts';

/** The whole key; nobody but its owner has it. */
export interface PrivateJwk extends PublicJwk {
  d: string;
}

/** An issuer whose attestations an app trusts: a gateway, or one approver. Two entries of one name are two of its keys. */
export interface Issuer {
  /** As attestations name it in `iss`. */
  issuer: string;
  key: PublicJwk;
  /** The key speaks for this person only. Defaults to whomever it names. */
  approver?: string;
  /** The key speaks for decisions that were made here only, and for messages not at all. Defaults to all channels. */
  channels?: readonly string[];
}

export type SigningAlgorithm = 'EdDSA' | 'ES256';

/** Undefined for keys that attestations can't be signed with. */
export function signingAlgorithmOf({
  kty,
  crv,
}: Pick<PublicJwk, 'kty' | 'crv'>): SigningAlgorithm | undefined {
  if (kty === 'OKP' && crv === 'Ed25519') return 'EdDSA';
  if (kty === 'EC' && crv === 'P-256') return 'ES256';
  return undefined;
}

/** The key without its private half, and without fields that say nothing about it. */
export function publicHalf({ kty, crv, x, y, kid }: PublicJwk): PublicJwk {
  return { kty, crv, x, ...defined({ y, kid }) };
}
