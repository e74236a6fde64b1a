import { randomBytes } from 'node:crypto';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { isTime, readToken, signToken, type TokenFlaw, type TokenKind } from '../credentials/signed-token.ts';
import { pageUrl } from '../net/public-url.ts';

const KIND: TokenKind = { type: 'holdfast-link+jwt', use: 'holdfast approval links' };
/** However long its request waits, milliseconds. */
const LONGEST_LIFE = 7 * 86_400_000;
const ID_BYTES = 16;

/** The subject of a link: one request, and one person, who decides it by having the link. */
export interface LinkTerms {
  /** The store's id of the request's session, `ApprovalRow.session`. */
  session: string;
  requestId: string;
  /** Name in its bearer's decision. */
  approver: string;
  /** Milliseconds since the epoch; a link of a request that never expires ends after a week, and none lives longer. */
  expiresAt?: number | undefined;
}

export interface ApprovalLink extends Required<LinkTerms> {
  expiresAt: number;
  /** Of this link alone: it decides once. */
  id: string;
}

/** Why a link is none, or none any more; only one whose signature holds is `expired`. */
export type LinkProblem = TokenFlaw | 'expired';

/**
 * Signs that the link's holder may decide the request as this person, once. Each call gives another link.
 *
 * @param now by the store's clock, milliseconds since the epoch.
 * @returns a compact JWS (HS256), a part of a URL: see {@link linkUrl}.
 */
export function signApprovalLink(keys: CredentialKeys, terms: LinkTerms, now: number): string {
  const { session: ses, requestId: sub, approver: apr, expiresAt = Number.POSITIVE_INFINITY } = terms;
  const exp = Math.ceil(Math.min(expiresAt, now + LONGEST_LIFE) / 1_000);
  return signToken(KIND, keys, { sub, ses, apr, exp, jti: randomBytes(ID_BYTES).toString('base64url') });
}

/**
 * The claims of a link's token.
 *
 * @param keys undefined where this process has none.
 * @param now by the store's clock, milliseconds since the epoch.
 */
export async function verifyApprovalLink(
  keys: CredentialKeys | undefined,
  token: string,
  now: number,
): Promise<ApprovalLink | LinkProblem> {
  const read = await readToken(KIND, keys, token);
  if (typeof read === 'string') return read;
  const { sub: requestId, ses: session, apr: approver, exp, jti: id } = read;
  if (!isText(requestId) || !isText(session) || !isText(approver) || !isText(id) || !isTime(exp)) {
    return 'malformed';
  }
  const expiresAt = exp * 1_000;
  return expiresAt <= now ? 'expired' : { session, requestId, approver, expiresAt, id };
}

/** @param publicUrl of the gateway, as people's browsers reach it. */
export function linkUrl(publicUrl: string, token: string): string {
  return pageUrl(publicUrl, `/a/${token}`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
