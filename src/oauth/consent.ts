import * as oauth from 'oauth4webapi';
import type { StoredCredential } from '../contract/credentials.ts';
import type { KeptTokens } from '../credentials/auth-credential.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import { openText, readable, sealText } from '../credentials/seal.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { sha256Digest } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import type { Connections } from './connections.ts';
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
  /** Milliseconds since the epoch. */
  until?: number;
}

const STATE = 'oauth state';

/**
 * The address where a person consents, its `state`, which is the flow, sealed, and what the person's browser keeps meanwhile.
 *
 * @param by.redirectUri address of the way back.
 * @param by.until when it is too late to come back, milliseconds since the epoch.
 * @throws OAuthFailed, CredentialKeyMissing
 */
export async function beginConsent(
  connections: Connections,
  wanted: WantedTokens,
  { redirectUri, until }: { redirectUri: string; until?: number },
): Promise<{ url: string; state: string; kept: string }> {
  const provider = await withClient(connections, wanted, redirectUri);
  const scopes = await scopesFor(connections, wanted, provider);
  const flow: Flow = {
    ...{ ...wanted, scopes, redirectUri, parties: partiesOf(provider), ...defined({ until }) },
    verifier: oauth.generateRandomCodeVerifier(),
    nonce: scopes.includes('openid') ? oauth.generateRandomNonce() : '',
  };
  const state = linkText(connections.vault.ownKeys(), STATE, flow);
  const url = await new OAuthClient(provider).authorizationUrl({ ...flow, state }, scopes);
  return { url, state, kept: keptBy(flow) };
}

/** The flow of a state that was given out here. @throws CredentialKeyMissing */
export function flowOf({ vault }: Connections, state: string): Flow | undefined {
  return openText<Flow>(vault.ownKeys(), STATE, state);
}

/** Nobody who has only seen the address of a flow can know it. */
export function keptBy({ verifier }: Flow): string {
  return sha256Digest(`browser of ${verifier}`);
}

/**
 * Keeps the tokens for the code with which a person came back. The caller has seen that it is the person who went.
 *
 * @param callback the fields of the way back.
 * @throws OAuthFailed, CredentialKeyMissing
 */
export async function finishConsent(
  connections: Connections,
  flow: Flow,
  callback: URLSearchParams,
  { now, redirectUri = '' }: { now: number; redirectUri?: string },
): Promise<StoredCredential> {
  const { app, credentialKey, parties, until = now } = flow;
  if (until < now) throw oauthFailed('expired', 'this way back was open for too long: open the link again');
  const provider = await connections.findProvider(app, credentialKey, parties);
  if (provider === undefined || canonicalJson(partiesOf(provider)) !== canonicalJson(parties))
    throw oauthFailed('misconfigured', `the provider ${credentialKey} has changed: open the link again`);
  const state = callback.get('state') ?? '';
  const secrets = { ...flow, state, redirectUri: flow.redirectUri || redirectUri };
  try {
    const tokens = await new OAuthClient(provider).exchange(callback, secrets);
    return await kept(connections, flow, provider, tokens);
  } catch (error) {
    if (error instanceof OAuthFailed && error.problem === 'unknown_client')
      await connections.forgetClient(app, credentialKey, provider.clientId);
    throw error;
  }
}

/**
 * Begins the flow of another device.
 *
 * @returns `finish`: keeps the tokens, once the person has consented there.
 * @throws OAuthFailed
 */
export async function beginAtDevice(
  connections: Connections,
  wanted: WantedTokens,
): Promise<{ code: DeviceCode; finish: () => Promise<StoredCredential> }> {
  const provider = await withClient(connections, wanted, '');
  const scopes = await scopesFor(connections, wanted, provider);
  const client = new OAuthClient(provider);
  const code = await client.deviceCode(scopes);
  const finish = async () =>
    await kept(connections, { ...wanted, scopes }, provider, await client.deviceTokens(code.device_code));
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
