import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { openText, sealText } from '../credentials/seal.ts';
import type { WantedTokens } from './consent.ts';

const USE = 'connect link';
/** Milliseconds for which a link is good. */
const LIFE = 24 * 3_600_000;

/** A link by which its holder connects an account for a user. */
interface ConnectLink extends WantedTokens {
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
  { app, userId, credentialKey, needs }: WantedTokens,
  now: number,
): { path: string; expiresAt: number } {
  const link: ConnectLink = { app, userId, credentialKey, needs, expiresAt: now + LIFE };
  return { path: `/connect/${sealText(keys, USE, link)}`, expiresAt: link.expiresAt };
}

/** Undefined for a text that is no link. @param now milliseconds since the epoch. */
export function readConnectLink(
  keys: CredentialKeys,
  token: string,
  now: number,
): WantedTokens | 'expired' | undefined {
  const link = openText<ConnectLink>(keys, USE, token);
  return link !== undefined && link.expiresAt <= now ? 'expired' : link;
}

/** @param publicUrl of the gateway, as people's browsers reach it. */
export function linkUrl(publicUrl: string, path: string): string {
  return `${publicUrl.replace(/(?<!\/)\/+$/, '')}${path}`;
}
