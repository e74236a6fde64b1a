import { createHash, createHmac, randomBytes } from 'node:crypto';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import type { Principal } from '../access/access.ts';
import { grantedPrincipal } from '../access/granted-principal.ts';
import { readKeyText } from '../access/key-text.ts';
import type { GatewayContext } from '../gateway-app.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { RouteSetting } from '../route-setting.ts';
import { isFormCookie, isSameToken, newFormCookie } from './form-token.ts';
import { cookieName, keepCookie, type PageSite } from './page-site.ts';
import { pageOf } from './shell.ts';
import type { SignInLookups } from './sign-in-lookups.ts';

const COOKIE = 'holdfast';
const COOKIE_BYTES = 32;
const COOKIE_TEXT = /^[\w-]{43}$/;
/** Of the form to sign in with, where nobody is known yet. */
const FORM_COOKIE = 'holdfast-form';

/** Where the form to sign in goes on to: always a page of the inbox. */
const NEXT = /^\/inbox(\/decided|\/jobs|\/connections|\/requests\/[\w.~-]{1,400})?$/;

/** Somebody who is signed in. */
export interface SignedIn {
  principal: Principal;
  /** Name in the person's decisions. */
  person: string;
  /** Stands in each of their forms. */
  formToken: string;
  tokenHash: Buffer;
}

export interface SignInParts extends Pick<RouteSetting, 'keys' | 'issuers'> {
  records: GatewayRecords;
  lookups: SignInLookups;
}

export interface SignInOptions extends Pick<SignInParts, 'records' | 'keys'> {
  apiKey: string;
  /** Throws where they have asked too often. */
  admit(principal: Principal): void;
}

/** Undefined for a browser that nobody has signed in with, or whose key or issuer counts no more. */
export async function signedIn(
  context: GatewayContext,
  site: PageSite,
  { keys, issuers, lookups }: SignInParts,
): Promise<SignedIn | undefined> {
  const cookie = getCookie(context, cookieName(site, COOKIE));
  if (cookie === undefined || !COOKIE_TEXT.test(cookie)) return undefined;
  const tokenHash = hashOf(cookie);
  const found = await lookups.find(tokenHash);
  if (found === undefined) {
    context.set('isGuess', true);
    keepCookie(context, site, { name: COOKIE, value: '', maxAge: 0 });
    return undefined;
  }
  const principal =
    'keyId' in found
      ? await keys?.principal(found.keyId, found.keyDigest)
      : issuers.some(({ issuer }) => issuer === found.ofIssuer.issuer) && grantedPrincipal(found.ofIssuer);
  if (!principal || principal.person === undefined) return undefined;
  return { principal, person: principal.person, formToken: tokenOf(cookie), tokenHash };
}

/** Opens a new sign-in for a key's owner; undefined for a wrong key. */
export async function signIn(
  context: GatewayContext,
  site: PageSite,
  { records, keys, apiKey, admit }: SignInOptions,
): Promise<Principal | undefined> {
  const shown = readKeyText(apiKey.trim());
  const principal = await keys?.authenticate(apiKey.trim());
  if (shown === undefined || principal?.person === undefined) return undefined;
  admit(principal);
  const tokenHash = newCookie(context, site);
  await records.keys.openSignIn({ tokenHash, keyId: shown.keyId, keyDigest: shown.digest });
  return principal;
}

/** Gives the browser a cookie that nobody has had before. @returns its SHA-256 */
export function newCookie(context: GatewayContext, site: PageSite): Buffer {
  const cookie = randomBytes(COOKIE_BYTES).toString('base64url');
  keepCookie(context, site, { name: COOKIE, value: cookie });
  return hashOf(cookie);
}

export async function signOut(
  context: GatewayContext,
  site: PageSite,
  { records, tokenHash }: { records: GatewayRecords; tokenHash: Buffer },
): Promise<void> {
  await records.keys.endSignIn(tokenHash);
  keepCookie(context, site, { name: COOKIE, value: '', maxAge: 0 });
}

/** A browser keeps the cookie to itself while another site opens a page: opened once more by itself, it sends it. */
export function isFromElsewhere({ req }: GatewayContext): boolean {
  return ['cross-site', 'same-site'].includes(req.header('sec-fetch-site') ?? '');
}

export function nextOf(text: string | undefined): string {
  return text !== undefined && NEXT.test(text) ? text : '/inbox';
}

/** The ways to sign in, with what is wrong where a key was refused. */
export function signInPage(
  context: GatewayContext,
  site: PageSite,
  { keys, issuers }: SignInParts,
  { next, problem }: { next: string; problem?: string },
): string {
  const known = getCookie(context, cookieName(site, FORM_COOKIE));
  const cookie = isFormCookie(known) ? known : newFormCookie();
  keepCookie(context, site, { name: FORM_COOKIE, value: cookie });
  const invalid = problem === undefined ? '' : html` aria-invalid="true" aria-describedby="key-error"`;
  const begin = `${site.base}/inbox/sign-in/oidc?next=${encodeURIComponent(next)}&issuer=`;
  const ways = issuers.map(
    ({ issuer }, n) =>
      html`<a class="button primary" href="${begin}${n}">Sign in with ${new URL(issuer).host}</a>`,
  );
  const form = html`<p class="soft">With your API key. The operator of this gateway makes one with <code>holdfast keys create</code>.</p>
<form method="post" action="${site.base}/inbox/sign-in">
<input type="hidden" name="token" value="${tokenOf(cookie)}"><input type="hidden" name="next" value="${next}">
<div class="field"><label for="key">API key</label>
<input type="password" class="code" id="key" name="key" required autocomplete="current-password" spellcheck="false" autocapitalize="off"${invalid}>
${problem === undefined ? '' : html`<p class="error" id="key-error" role="alert">${problem}</p>`}</div>
<div class="actions"><button class="primary">Sign in</button></div></form>`;
  const main = html`<section class="card"><h1>Sign in</h1>${ways.length > 0 ? html`<div class="actions">${ways}</div>` : ''}${keys && form}</section>`;
  return pageOf({ title: 'Sign in', main, width: 'narrow' });
}

export function isSignInForm(context: GatewayContext, site: PageSite, token: string | undefined): boolean {
  const cookie = getCookie(context, cookieName(site, FORM_COOKIE));
  return isFormCookie(cookie) && isSameToken(token, tokenOf(cookie));
}

/** Only a holder of the cookie can make it. */
function tokenOf(cookie: string): string {
  return createHmac('sha256', cookie).update('holdfast forms of pages').digest('base64url');
}

function hashOf(cookie: string): Buffer {
  return createHash('sha256').update(cookie).digest();
}
