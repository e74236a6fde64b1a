import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { CredentialKeys } from '../../credentials/credential-keys.ts';

/** Other keys are derived from the keys that encrypt credentials, so that one use tells nothing of the other. */
const USE = 'holdfast forms of pages';
const KEY_BYTES = 32;
const COOKIE_BYTES = 16;
const COOKIE = /^[\w-]{22}$/;

/** A secret of the browser, which the token of a form belongs to. */
export function newFormCookie(): string {
  return randomBytes(COOKIE_BYTES).toString('base64url');
}

export function isFormCookie(text: string | undefined): text is string {
  return text !== undefined && COOKIE.test(text);
}

/** Stands in a form. Only this browser has been shown it. */
export function formToken(keys: CredentialKeys, about: string, cookie: string): string {
  const { bytes } = keys.sealing();
  const key = new Uint8Array(hkdfSync('sha256', bytes, '', USE, KEY_BYTES));
  return createHmac('sha256', key)
    .update(JSON.stringify([about, cookie]))
    .digest('base64url');
}

/** In constant time. */
export function isSameToken(given: string | undefined, expected: string): boolean {
  const [one, other] = [Buffer.from(given ?? ''), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
