import * as oauth from 'oauth4webapi';
import type { StoredCredential } from '../contract/credentials.ts';
import type { KeptTokens } from '../credentials/auth-credential.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { openText, sealText } from '../credentials/seal.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { sha256Digest } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import { type Connections, readable } from './connections.ts';
import { type AuthorizationSecrets, type DeviceCode, OAuthClient, type TokenSet } from './oauth-client.ts';
import { OAuthFailed, oauthFailed } from './oauth-failed.ts';
import { type OAuthProvider, partiesOf } from './oauth-provider.ts';
import { covers, credentialOf, factsOf } from './tokens.ts';

/** The tokens that somebody is asked to consent to. */
export interface WantedTokens {
  app: string;
  userId: string;
  credentialKey: string;
  /** Scopes without which the call that asks doesn't run. */
  needs: readonly string[];
  /** The end of the link by which somebody consents, milliseconds since the epoch. */
  expiresAt?: number;
}

/** A person's way to the server and back, as the field `state` carries it: sealed. */
interface Flow extends WantedTokens, Omit<AuthorizationSecrets, 'state'> {
  scopes: readonly string[];
  /** The server that was asked, and the client. */
  parties: ReturnType<typeof partiesOf>;
  /** SHA-256 of the cookie of the browser that may come back. */
  browser?: string;
  /** Milliseconds since the epoch. */
  until?: number;
}

const STATE = 'oauth state';

/**
 * The address where a person consents, and its `state`: the flow, sealed.
 *
 * @param by.redirectUri address of the way back.
 * @param by.browser cookie of the only browser that may come back.
 * @param by.until when it is too late to come back, milliseconds since the epoch.
 * @throws OAuthFailed, CredentialKeyMissing
 */
export async function beginConsent(
  connections: Connections,
  wanted: WantedTokens,
  by: { redirectUri: string; browser?: string; until?: number; provider?: OAuthProvider },
): Promise<{ url: string; state: string }> {
  const { redirectUri, browser, until } = by;
  const provider = by.provider ?? (await withClient(connections, wanted, redirectUri));
  const scopes = await scopesFor(connections, wanted, provider);
  const flow: Flow = {
    ...wanted,
    ...{ scopes, redirectUri, parties: partiesOf(provider) },
    ...{ verifier: oauth.generateRandomCodeVerifier(), nonce: oauth.generateRandomNonce() },
    ...defined({ until, browser: browser === undefined ? undefined : sha256Digest(browser) }),
  };
  const state = linkText(connections.vault.ownKeys(), STATE, flow);
  return { url: await new OAuthClient(provider).authorizationUrl({ ...flow, state }, scopes), state };
}

/** The tokens that a way back is to give; undefined for one that is none of ours, or of another browser. @throws CredentialKeyMissing */
export function wantedBy({ vault }: Connections, state: string, browser = ''): WantedTokens | undefined {
  const flow = openText<Flow>(vault.ownKeys(), STATE, state);
  return flow?.browser === sha256Digest(browser) ? flow : undefined;
}

/**
 * Keeps the tokens for the code with which a person came back.
 *
 * @param callback the fields of the way back.
 * @param by.browser cookie of the browser that came back.
 * @param by.owner the only app and user whose tokens these may be.
 * @throws OAuthFailed, CredentialKeyMissing
 */
export async function finishConsent(
  connections: Connections,
  callback: URLSearchParams,
  by: {
    now: number;
    browser?: string | undefined;
    redirectUri?: string;
    owner?: { app: string; userId: string };
  },
): Promise<StoredCredential> {
  const state = callback.get('state') ?? '';
  const flow = openText<Flow>(connections.vault.ownKeys(), STATE, state);
  if (flow === undefined)
    throw oauthFailed('invalid', 'the state of this way back is none that was given out here');
  const { app, userId, credentialKey, parties, browser, until = by.now, redirectUri } = flow;
  if (browser !== undefined && browser !== sha256Digest(by.browser ?? ''))
    throw oauthFailed('invalid', 'another browser has begun this: open the link again in this one');
  if (until < by.now) throw oauthFailed('expired', 'this way back was open for an hour: open the link again');
  if (by.owner !== undefined && (by.owner.app !== app || by.owner.userId !== userId))
    throw oauthFailed('invalid', 'this way back is of another user');
  const provider = await connections.findProvider(app, credentialKey, parties);
  if (provider === undefined || canonicalJson(partiesOf(provider)) !== canonicalJson(parties))
    throw oauthFailed('misconfigured', `the provider ${credentialKey} has changed: open the link again`);
  const secrets = { ...flow, state, redirectUri: redirectUri || (by.redirectUri ?? '') };
  try {
    return await kept(
      connections,
      flow,
      provider,
      await new OAuthClient(provider).exchange(callback, secrets),
    );
  } catch (error) {
    if (error instanceof OAuthFailed && error.problem === 'unknown_client')
      await connections.forgetClient(app, credentialKey, provider.clientId);
    throw error;
  }
}

/**
 * Begins the flow of another device.
 *
 * @returns `finish`: keeps the tokens; undefined while the person hasn't consented there.
 * @throws OAuthFailed
 */
export async function beginAtDevice(
  connections: Connections,
  wanted: WantedTokens,
): Promise<{ code: DeviceCode; finish: () => Promise<StoredCredential | undefined> }> {
  const provider = await withClient(connections, wanted, '');
  const scopes = await scopesFor(connections, wanted, provider);
  const client = new OAuthClient(provider);
  const code = await client.deviceCode(scopes);
  const finish = async () => {
    const tokens = await client.deviceTokens(code.device_code);
    return tokens && (await kept(connections, { ...wanted, scopes }, provider, tokens));
  };
  return { code, finish };
}

async function kept(
  { store, vault }: Connections,
  { app, userId, credentialKey, scopes, needs }: WantedTokens & Pick<Flow, 'scopes'>,
  provider: OAuthProvider,
  tokens: TokenSet,
): Promise<StoredCredential> {
  const facts = factsOf(tokens, scopes);
  const missing = needs.filter((scope) => !covers(facts.scopes, [scope])).join(', ');
  if (missing !== '')
    throw oauthFailed('denied', `no consent to ${missing}, which the tool needs: nothing is kept`);
  if (provider.issuer !== undefined && scopes.includes('openid') && tokens.subject === undefined)
    throw oauthFailed('invalid', 'its answer has no ID token, though `openid` was asked for');
  const before = await store.find({ app, userId, credentialKey });
  const { subject, issuer }: KeptTokens = (before && readable(() => vault.unsealed(before)))?.oauth2 ?? {};
  const isOther = subject !== tokens.subject || issuer !== partiesOf(provider).issuer;
  if (subject !== undefined && isOther)
    throw oauthFailed(
      'invalid',
      `${before?.account} is connected, not ${facts.account ?? 'an unknown account'}: disconnect that first`,
    );
  const credential = credentialOf(tokens, provider);
  return await store.put({ ...vault.sealed({ app, userId, credentialKey, credential }), ...facts });
}

/** With a client, which is registered where the provider has none. */
async function withClient(
  connections: Connections,
  { app, credentialKey }: WantedTokens,
  redirectUri: string,
): Promise<OAuthProvider> {
  const provider = await connections.provider(app, credentialKey, { registeredFor: redirectUri });
  if (provider.clientId !== undefined) return provider;
  const client = await new OAuthClient(provider).register(`${app} (Holdfast)`, redirectUri);
  await connections.addClient(app, credentialKey, client);
  return { ...provider, ...client };
}

/** Scopes of the provider, of the tool, and of the consent before, which a new one replaces. */
export async function scopesFor(
  { store }: Connections,
  { needs, ...owner }: WantedTokens,
  { scopes = [] }: OAuthProvider,
): Promise<string[]> {
  const before = await store.find(owner);
  return [...new Set([...scopes, ...needs, ...(before?.scopes ?? [])])];
}

/** A link by which its holder connects an account for a user; `expiresAt` and `now` in milliseconds since the epoch. */
type ConnectLink = WantedTokens & { expiresAt: number };
const LINK = 'connect link';
/** Milliseconds for which a link is good. */
const LINK_LIFE = 24 * 3_600_000;

/** The path of a gateway's page on which a person connects an account for a user. */
export function connectLink(
  keys: CredentialKeys,
  { app, userId, credentialKey, needs, expiresAt: until = Number.POSITIVE_INFINITY }: WantedTokens,
  now: number,
): { path: string; expiresAt: number } {
  const expiresAt = Math.min(until, now + LINK_LIFE);
  const link: ConnectLink = { app, userId, credentialKey, needs, expiresAt };
  return { path: `/connect/${linkText(keys, LINK, link)}`, expiresAt: link.expiresAt };
}

/** Servers and proxies take addresses of 8 KiB. */
const LONGEST_TEXT = 6_000;

function linkText(keys: CredentialKeys, use: string, content: object): string {
  const text = sealText(keys, use, content);
  if (text.length > LONGEST_TEXT)
    throw oauthFailed('misconfigured', 'its scopes are too long for an address');
  return text;
}

/** Undefined for a text that is no link. */
export function readConnectLink(keys: CredentialKeys, token: string, now: number) {
  const link = openText<ConnectLink>(keys, LINK, token);
  return link !== undefined && link.expiresAt <= now ? 'expired' : link;
}
