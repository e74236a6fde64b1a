import { createHmac, hkdfSync } from 'node:crypto';
import { compactVerify, errors } from 'jose';
import { jsonRecordOf } from '../schema/json-value.ts';
import type { CredentialKey, CredentialKeys } from './credential-keys.ts';

const ALGORITHM = 'HS256';
const KEY_BYTES = 32;
const LONGEST_TOKEN = 4_096;

/** Marks of one kind of tokens. */
export interface TokenKind {
  /** `typ` of their header. */
  type: string;
  /** Purpose of their key. It is derived from the keys that encrypt credentials, so that one use tells nothing of the other. */
  use: string;
}

/** Why a token proves nothing. */
export type TokenFlaw = 'malformed' | 'unknown key' | 'forged';

/** @returns a compact JWS (HS256) over these claims; the same claims and key give the same token. */
export function signToken(
  { type, use }: TokenKind,
  keys: CredentialKeys,
  claims: Readonly<Record<string, unknown>>,
): string {
  const key = keys.sealing();
  const signed = `${base64Json({ alg: ALGORITHM, typ: type, kid: key.id })}.${base64Json(claims)}`;
  return `${signed}.${createHmac('sha256', signingKey(use, key)).update(signed).digest('base64url')}`;
}

/**
 * The claims of a token of this kind, whose signature holds. Whether they are those that are needed, and of this time, its kind says.
 *
 * @param keys undefined where this process has none.
 */
export async function readToken(
  { type, use }: TokenKind,
  keys: CredentialKeys | undefined,
  token: unknown,
): Promise<Record<string, unknown> | TokenFlaw> {
  if (typeof token !== 'string') return 'malformed';
  const kid = keyIdOf(type, token);
  if (kid === undefined) return 'malformed';
  const key = keys?.find(kid);
  if (key === undefined) return 'unknown key';
  try {
    const { payload } = await compactVerify(token, signingKey(use, key), { algorithms: [ALGORITHM] });
    return jsonRecordOf(payload) ?? 'malformed';
  } catch (error) {
    if (error instanceof errors.JOSEError) return 'forged';
    throw error;
  }
}

/** Undefined for anything but a token of this type, by its header. */
function keyIdOf(type: string, token: string): string | undefined {
  if (token.length > LONGEST_TOKEN) return undefined;
  const parts = token.split('.');
  const bytes = parts.map((part) => Buffer.from(part, 'base64url'));
  // Only as an encoder writes it: one signature has one text.
  if (parts.length !== 3 || parts.some((part, index) => bytes[index]?.toString('base64url') !== part)) {
    return undefined;
  }
  const { alg, typ, kid, ...more } = jsonRecordOf(bytes[0]) ?? {};
  const isOurs = alg === ALGORITHM && typ === type && Object.keys(more).length === 0;
  return isOurs && typeof kid === 'string' ? kid : undefined;
}

function signingKey(use: string, { bytes }: CredentialKey): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', bytes, '', use, KEY_BYTES));
}

function base64Json(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Whether a claim is a point in time: a number, 0 or more. */
export function isTime(claim: unknown): claim is number {
  return typeof claim === 'number' && Number.isFinite(claim) && claim >= 0;
}
