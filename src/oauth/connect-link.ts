import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { isTime, readToken, signToken, type TokenFlaw, type TokenKind } from '../credentials/signed-token.ts';
import type { WantedTokens } from './consent.ts';

const KIND: TokenKind = { type: 'holdfast-connect+jwt', use: 'holdfast connect links' };
/** Milliseconds for which a link is good. */
const LIFE = 24 * 3_600_000;

/** A link by which its holder connects an account for a user. */
export interface ConnectLink extends WantedTokens {
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/**
 * The path of a gateway's page on which a person connects an account for a user.
 *
 * @param now milliseconds since the epoch.
 */
export function connectLink(
  keys: CredentialKeys,
  wanted: WantedTokens,
  now: number,
): { path: string; expiresAt: number } {
  const { app, userId: sub, credentialKey: key, needs: scp } = wanted;
  const exp = Math.ceil((now + LIFE) / 1_000);
  return { path: `/connect/${signToken(KIND, keys, { app, sub, key, scp, exp })}`, expiresAt: exp * 1_000 };
}

/** @param now milliseconds since the epoch. */
export async function readConnectLink(
  keys: CredentialKeys | undefined,
  token: string,
  now: number,
): Promise<ConnectLink | TokenFlaw | 'expired'> {
  const read = await readToken(KIND, keys, token);
  if (typeof read === 'string') return read;
  const { app, sub: userId, key: credentialKey, scp: needs, exp } = read;
  if (!isText(app) || !isText(userId) || !isText(credentialKey) || !isTexts(needs) || !isTime(exp))
    return 'malformed';
  const expiresAt = exp * 1_000;
  return expiresAt <= now ? 'expired' : { app, userId, credentialKey, needs, expiresAt };
}

/** @param publicUrl of the gateway, as people's browsers reach it. */
export function linkUrl(publicUrl: string, path: string): string {
  return `${publicUrl.replace(/(?<!\/)\/+$/, '')}${path}`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isText);
}
