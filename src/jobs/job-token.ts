import { createHmac, hkdfSync } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import type { CredentialKey, CredentialKeys } from '../credentials/credential-keys.ts';
import { isRecord } from '../schema/kind-of.ts';
import type { JobClaims } from '../store/store.ts';
import { JobTokenRefused } from './job-token-refused.ts';

const TYPE = 'holdfast-job+jwt';
const ALGORITHM = 'HS256';
const KEY_BYTES = 32;
/** Of the keys that encrypt credentials others are made, so that one use tells nothing of the other. */
const USE = 'holdfast job tokens';
const LONGEST_TOKEN = 4_096;
/** Late callers learn the outcome for a week, milliseconds. */
const AFTER_DEADLINE = 7 * 86_400_000;

/** Shorter names: the token travels in a header with each callback. */
const CLAIMS = {
  jobId: 'sub',
  session: 'ses',
  runKey: 'run',
  callKey: 'key',
  callId: 'call',
  tool: 'tool',
  agent: 'agent',
  until: 'until',
} as const satisfies Record<keyof JobClaims, string>;

/**
 * Signs that whoever has the token may speak for this job, until a week after its deadline. The same claims and key give the same token.
 *
 * @returns a compact JWS (HS256).
 */
export function signJobToken(keys: CredentialKeys, claims: JobClaims): string {
  const key = keys.sealing();
  const named = Object.entries(CLAIMS).map(([claim, name]) => [name, claims[claim as keyof JobClaims]]);
  const exp = Math.ceil((claims.until + AFTER_DEADLINE) / 1_000);
  const header = textOf({ alg: ALGORITHM, typ: TYPE, kid: key.id });
  const signed = `${header}.${textOf({ ...Object.fromEntries(named), exp })}`;
  return `${signed}.${createHmac('sha256', signingKey(key)).update(signed).digest('base64url')}`;
}

/**
 * What a token proves.
 *
 * @param keys undefined where this process has none.
 * @param jobId the job that its bearer speaks for.
 * @param now milliseconds since the epoch.
 * @throws JobTokenRefused
 */
export async function verifyJobToken(
  keys: CredentialKeys | undefined,
  token: string,
  jobId: string,
  now: number = Date.now(),
): Promise<JobClaims> {
  const kid = keyIdOf(token);
  if (kid === undefined) throw new JobTokenRefused('malformed');
  const key = keys?.find(kid);
  if (key === undefined) throw new JobTokenRefused('unknown key');
  const { claims, exp } = readClaims(await signedPayload(token, key));
  if (claims.jobId !== jobId) throw new JobTokenRefused('other job');
  if (exp * 1_000 <= now) throw new JobTokenRefused('expired');
  return claims;
}

/** Undefined for anything but a token of a job, by its header. */
function keyIdOf(token: unknown): string | undefined {
  if (typeof token !== 'string' || token.length > LONGEST_TOKEN) return undefined;
  const parts = token.split('.');
  const bytes = parts.map((part) => Buffer.from(part, 'base64url'));
  // Only as an encoder writes it: one signature has one text.
  if (parts.length !== 3 || parts.some((part, index) => bytes[index]?.toString('base64url') !== part)) {
    return undefined;
  }
  const { alg, typ, kid, ...more } = jsonOf(bytes[0]) ?? {};
  const isOurs = alg === ALGORITHM && typ === TYPE && Object.keys(more).length === 0;
  return isOurs && typeof kid === 'string' ? kid : undefined;
}

async function signedPayload(token: string, key: CredentialKey): Promise<Uint8Array> {
  try {
    return (await compactVerify(token, signingKey(key), { algorithms: [ALGORITHM] })).payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) throw new JobTokenRefused('forged');
    throw error;
  }
}

function readClaims(payload: Uint8Array): { claims: JobClaims; exp: number } {
  const { exp, ...said } = jsonOf(payload) ?? {};
  const entries = Object.entries(CLAIMS).map(([claim, name]) => [claim, said[name]] as const);
  const isWhole = entries.every(([claim, value]) =>
    claim === 'until' ? isTime(value) : typeof value === 'string' && (value !== '' || claim === 'callId'),
  );
  if (!isWhole || !isTime(exp)) throw new JobTokenRefused('malformed');
  return { claims: Object.fromEntries(entries) as unknown as JobClaims, exp };
}

function signingKey({ bytes }: CredentialKey): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', bytes, '', USE, KEY_BYTES));
}

function textOf(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function jsonOf(bytes: Uint8Array | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isRecord(value) ? value : undefined;
  } catch {
    // What it holds instead is nobody's business.
    return undefined;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
