import { isName } from '../schema/person-name.ts';
import {
  type Attested,
  missing,
  readAttestation,
  type SigningOptions,
  signAttestation,
} from './attestation.ts';
import type { Issuer, PrivateJwk } from './issuer.ts';

const TYPE = 'holdfast-message+jwt';

/** Claims of a message's sender. */
export interface AttestedMessage {
  app: string;
  userId: string;
  sessionId: string;
  messageId: string;
  /** Of `messageDigest`. */
  messageDigest: string;
}

/** Claims of an attestation of a message. */
export interface MessageClaims extends AttestedMessage {
  issuer: string;
  /** The sender. */
  principal: string;
}

/**
 * Signs that somebody has sent a message, so that they can be kept from approving what they asked for.
 *
 * @returns a compact JWS, for `SendMessage.attestation`.
 * @throws TypeError for a key that is neither Ed25519 nor P-256.
 */
export function signMessage(
  claims: MessageClaims,
  key: PrivateJwk,
  options?: SigningOptions,
): Promise<string> {
  const { issuer, principal, ...said } = claims;
  return signAttestation(TYPE, { issuer, principal }, { ...said }, key, options);
}

/**
 * Whether an attestation is over exactly this message, by an issuer that the app lists.
 *
 * @param now milliseconds since the epoch, when the message came.
 */
export async function verifyMessageAttestation(
  jws: string,
  expected: AttestedMessage,
  issuers: readonly Issuer[],
  now: number,
): Promise<Attested> {
  const read = await readAttestation(jws, TYPE, issuers, now);
  if (!('claims' in read)) return { ok: false, ...read };
  const { by, signature, claims, issuer } = read;
  const reason = mismatch(claims, expected) ?? channelRefusal(issuer, claims);
  return reason === undefined ? { ok: true, by, signature } : { ok: false, reason, by, signature };
}

function channelRefusal({ channels }: Issuer, { channel }: Record<string, unknown>): string | undefined {
  if (channels === undefined || (isName(channel) && channels.includes(channel))) return undefined;
  return 'the key of the attestation may not speak for messages';
}

function mismatch(claims: Record<string, unknown>, expected: AttestedMessage): string | undefined {
  for (const claim of ['app', 'userId', 'sessionId', 'messageId', 'messageDigest']) {
    if (typeof claims[claim] !== 'string') return missing(claim);
  }
  const { app, userId, sessionId, messageId, messageDigest } = claims;
  if (app !== expected.app || userId !== expected.userId || sessionId !== expected.sessionId) {
    return 'the attestation is for another session';
  }
  if (messageId !== expected.messageId) return 'the attestation is for another message';
  if (messageDigest !== expected.messageDigest) return 'the attestation is for another content';
  return undefined;
}
