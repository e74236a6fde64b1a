import { CompactSign, calculateJwkThumbprint, compactVerify, errors, importJWK, type JWK } from 'jose';
import type { Voter } from '../contract/approvals.ts';
import { LONGEST_ATTESTATION, UNVERIFIED } from '../contract/decision-limits.ts';
import { isTime } from '../credentials/signed-token.ts';
import { sha256Digest } from '../protocol/identity.ts';
import type { PublicJwk } from '../protocol/public-jwk.ts';
import { jsonRecordOf } from '../schema/json-value.ts';
import { isName, isPersonName } from '../schema/person-name.ts';
import { type Issuer, type PrivateJwk, publicHalf, signingAlgorithmOf } from './issuer.ts';

/** Clocks of issuer and worker may differ by this much, seconds. */
export const CLOCK_TOLERANCE = 60;
/** Seconds from `iat` to `exp`, at most. */
const LONGEST_LIFE = 24 * 60 * 60;
const DEFAULT_LIFE = LONGEST_LIFE;

export type AttestationType = 'holdfast-decision+jwt' | 'holdfast-message+jwt';

/** Fields of all attestations. */
export interface SignedBy {
  /** `iss`: as the app names it. */
  issuer: string;
  /** `sub`: who decides, or sends. */
  principal: string;
}

export interface SigningOptions {
  /** Milliseconds since the epoch. Defaults to this machine's clock. */
  now?: number;
  /** Milliseconds until it expires; at most, and by default, 24 hours: no worker may be up for a while. */
  lifetime?: number;
}

/** An attestation whose signature holds, and the key by which it does. */
export interface Signature {
  jws: string;
  key: PublicJwk;
}

/**
 * Whether an attestation says what is expected. `by` is who has signed it, where the signature holds. `reason` never quotes the
 * attestation.
 */
export type Attested =
  | { ok: true; by: Voter; signature: Signature }
  | { ok: false; reason: string; by?: Voter; signature?: Signature };

/** Signs claims with an Ed25519 or a P-256 key. */
export async function signAttestation(
  type: AttestationType,
  { issuer, principal }: SignedBy,
  claims: Readonly<Record<string, string | undefined>>,
  key: PrivateJwk,
  { now = Date.now(), lifetime = DEFAULT_LIFE * 1_000 }: SigningOptions = {},
): Promise<string> {
  const alg = signingAlgorithmOf(key);
  if (alg === undefined) {
    throw new TypeError('attestations are signed with an Ed25519 key, or with one of P-256');
  }
  const iat = Math.floor(now / 1_000);
  const payload = {
    iss: issuer,
    sub: principal,
    ...claims,
    iat,
    exp: iat + Math.floor(lifetime / 1_000),
    jti: crypto.randomUUID(),
  };
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg, typ: type, kid: await keyIdOf(key) })
    .sign(await importJWK({ ...publicHalf(key), d: key.d } as JWK, alg));
}

/** Name of a key in the header of an attestation. */
export async function keyIdOf(key: Issuer['key']): Promise<string> {
  return key.kid ?? (await calculateJwkThumbprint(publicHalf(key) as JWK));
}

/** An attestation whose signature, issuer and time hold, and what it says. */
export interface ReadAttestation {
  by: Voter;
  signature: Signature;
  issuer: Issuer;
  claims: Record<string, unknown>;
}

/**
 * Checks what is the same in all attestations: form, issuer, key, signature, time.
 *
 * @param now milliseconds since the epoch.
 */
export async function readAttestation(
  jws: string,
  type: AttestationType,
  issuers: readonly Issuer[],
  now: number,
): Promise<ReadAttestation | { reason: string; by?: Voter; signature?: Signature }> {
  const parts = partsOf(jws);
  if (parts === undefined) return { reason: 'the attestation is no compact JWS' };
  const { header, claims, signed } = parts;
  const { alg, typ, kid, crit } = header;
  if (alg !== 'EdDSA' && alg !== 'ES256') {
    return { reason: 'the attestation is not signed by EdDSA or ES256' };
  }
  if (typ !== type) return { reason: `the attestation is no ${type}` };
  if (crit !== undefined) return { reason: 'the attestation asks for extensions of JWS, and there are none' };
  if (!isName(kid)) return { reason: 'the attestation names no key: `kid` is missing in its header' };
  const { iss, sub: principal, jti } = claims;
  if (!isName(iss)) return { reason: missing('iss') };
  if (principal === UNVERIFIED) return { reason: 'the attestation names nobody' };
  if (!isPersonName(principal)) return { reason: missing('sub') };
  if (!isName(jti)) return { reason: missing('jti') };
  const named = issuers.filter(({ issuer }) => issuer === iss);
  if (named.length === 0) return { reason: 'the issuer of the attestation is none that the app lists' };
  const issuer = await ownerOf(named, kid);
  if (issuer === undefined)
    return { reason: 'the key of the attestation is none that the app lists for its issuer' };
  if (signingAlgorithmOf(issuer.key) !== alg) {
    return { reason: `the key of the attestation is not one for ${alg}` };
  }
  const key = await usable(issuer, alg);
  if (key === undefined) return { reason: 'the key that the app lists for the issuer is no valid key' };
  if (!(await isSigned(jws, key, alg))) {
    return { reason: 'the signature of the attestation does not fit the key that the app lists' };
  }
  const by: Voter = {
    principal,
    verified: true,
    // Digest of the signed part: an ECDSA signature can be written in two ways, and would be counted twice.
    attestation: sha256Digest(signed),
    ...(isName(claims.channel) ? { channel: claims.channel } : {}),
  };
  const signature = { jws, key: { ...publicHalf(issuer.key), kid } };
  const reason = refusalOfIssuer(issuer, principal) ?? refusalOfTime(claims, now);
  return reason === undefined ? { by, signature, issuer, claims } : { reason, by, signature };
}

export function missing(claim: string): string {
  return `the attestation has no valid claim \`${claim}\``;
}

interface Parts {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
  /** Facts that the signature is over. */
  signed: string;
}

function partsOf(jws: unknown): Parts | undefined {
  if (typeof jws !== 'string' || jws.length > LONGEST_ATTESTATION) return undefined;
  const [first, second, third, ...more] = jws.split('.');
  if (first === undefined || second === undefined || third === undefined || more.length > 0) return undefined;
  const [header, claims] = [jsonRecordOf(bytesOf(first)), jsonRecordOf(bytesOf(second))];
  if (header === undefined || claims === undefined || bytesOf(third) === undefined) return undefined;
  return { header, claims, signed: `${first}.${second}` };
}

/** Only as an encoder writes it: one signature has one text. */
function bytesOf(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, 'base64url');
  return bytes.length > 0 && bytes.toString('base64url') === part ? bytes : undefined;
}

async function ownerOf(issuers: readonly Issuer[], kid: string): Promise<Issuer | undefined> {
  for (const issuer of issuers) {
    if ((await keyIdOf(issuer.key)) === kid) return issuer;
  }
  return undefined;
}

type VerifyingKey = Awaited<ReturnType<typeof importJWK>>;

async function usable({ key }: Issuer, alg: string): Promise<VerifyingKey | undefined> {
  try {
    return await importJWK(publicHalf(key) as JWK, alg);
  } catch {
    // The decision doesn't count, and says so; an attempt more would find the same key.
    return undefined;
  }
}

async function isSigned(jws: string, key: VerifyingKey, alg: string): Promise<boolean> {
  try {
    await compactVerify(jws, key, { algorithms: [alg] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError) return false;
    throw error;
  }
}

function refusalOfIssuer({ approver }: Issuer, principal: string): string | undefined {
  return approver === undefined || approver === principal
    ? undefined
    : 'the key of the attestation may not speak for the person that it names';
}

function refusalOfTime({ iat, exp, nbf }: Record<string, unknown>, now: number): string | undefined {
  if (!isTime(iat)) return missing('iat');
  if (!isTime(exp)) return missing('exp');
  if (nbf !== undefined && !isTime(nbf)) return missing('nbf');
  if (exp <= iat || exp - iat > LONGEST_LIFE)
    return 'the attestation is valid for longer than 24 hours, or never';
  const seconds = now / 1_000;
  if (Math.max(iat, nbf ?? iat) > seconds + CLOCK_TOLERANCE) {
    return 'the attestation is not yet valid: the clock of its issuer may be wrong';
  }
  return exp < seconds - CLOCK_TOLERANCE ? 'the attestation has expired' : undefined;
}
