import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { isTime, readToken, signToken, type TokenKind } from '../credentials/signed-token.ts';
import type { JobClaims } from '../store/jobs/job-store.ts';
import { jobTokenRefused } from './job-token-refused.ts';

const KIND: TokenKind = { type: 'holdfast-job+jwt', use: 'holdfast job tokens' };
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
 * Signs that the token's owner may report for this job, until a week after its deadline. The same claims and key give the same token.
 *
 * @returns a compact JWS (HS256).
 */
export function signJobToken(keys: CredentialKeys, claims: JobClaims): string {
  const named = Object.entries(CLAIMS).map(([claim, name]) => [name, claims[claim as keyof JobClaims]]);
  const exp = Math.ceil((claims.until + AFTER_DEADLINE) / 1_000);
  return signToken(KIND, keys, { ...Object.fromEntries(named), exp });
}

/**
 * The claims of a token.
 *
 * @param keys undefined where this process has none.
 * @param jobId the job that its bearer speaks for.
 * @param now by the store's clock, milliseconds since the epoch.
 * @throws JobTokenRefused
 */
export async function verifyJobToken(
  keys: CredentialKeys | undefined,
  token: string,
  jobId: string,
  now: number,
): Promise<JobClaims> {
  const read = await readToken(KIND, keys, token);
  if (typeof read === 'string') throw jobTokenRefused(read);
  const { claims, exp } = readClaims(read);
  if (claims.jobId !== jobId) throw jobTokenRefused('other job');
  if (exp * 1_000 <= now) throw jobTokenRefused('expired');
  return claims;
}

function readClaims({ exp, ...said }: Record<string, unknown>): { claims: JobClaims; exp: number } {
  const entries = Object.entries(CLAIMS).map(([claim, name]) => [claim, said[name]] as const);
  const isWhole = entries.every(([claim, value]) =>
    claim === 'until' ? isTime(value) : typeof value === 'string' && (value !== '' || claim === 'callId'),
  );
  if (!isWhole || !isTime(exp)) throw jobTokenRefused('malformed');
  return { claims: Object.fromEntries(entries) as unknown as JobClaims, exp };
}
