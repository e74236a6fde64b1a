import { CompactSign, importJWK, type JWK } from 'jose';
import type { ApproverKey } from '../../src/approvals/approver-key.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';

/** Milliseconds since the epoch of all tests of attestations. */
export const NOW = Date.UTC(2026, 10, 20, 12);

export const ARGS = { orderId: 'FH-12529', amount: 40 };

export const EXPECTED = {
  session: 's-1',
  requestId: 'rq-e-1.1.0.1',
  argsDigest: digestOf(ARGS),
  decision: 'approve',
} as const;

/** What a decision's attestation says, by the names of its claims. */
export function claimsOf({ issuer, approver }: ApproverKey): Record<string, unknown> {
  const iat = NOW / 1_000;
  return { iss: issuer, sub: approver, ...EXPECTED, channel: 'cli', iat, exp: iat + 600, jti: 'j-1' };
}

/** Signs whatever it is given, by whatever header: what an attacker would send. */
export async function forged(
  claims: unknown,
  { privateKey }: Pick<ApproverKey, 'privateKey'>,
  header: Record<string, unknown> = {},
): Promise<string> {
  const alg = privateKey.kty === 'EC' ? 'ES256' : 'EdDSA';
  const whole = { alg, typ: 'holdfast-decision+jwt', kid: privateKey.kid, ...header };
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
    .setProtectedHeader(whole)
    .sign(await importJWK(privateKey as JWK, alg));
}

/** A part of a JWS. */
export function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
