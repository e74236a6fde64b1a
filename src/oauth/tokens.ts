import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { KeptTokens } from '../credentials/auth-credential.ts';
import type { AuthCredential } from '../events/auth-credential.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import { defined } from '../protocol/json.ts';
import type { NewCredential, SealedCredential } from '../store/credentials/credential-store.ts';
import type { Connections } from './connections.ts';
import { OAuthClient, type TokenSet } from './oauth-client.ts';
import { OAuthFailed, oauthFailed } from './oauth-failed.ts';
import { hasGiven, type OAuthProvider, partiesOf, providerOfServiceAccount } from './oauth-provider.ts';

/** Milliseconds before their end at which tokens are refreshed. */
const LEEWAY = 60_000;
/** Milliseconds that a refresh may take: metadata, and the tokens. */
const LONGEST_REFRESH = 45_000;
/** Milliseconds between two looks at a refresh of another process. */
const LOOK_EVERY = 100;

/** `authType` of tokens that their server takes no longer: a person consents again, with the same account. */
export const REVOKED = 'revoked';

/** A call's need of a user's tokens. */
export interface Need {
  /** Scopes that the tokens have to have. */
  scopes: readonly string[];
  /** The provider as this process knows it; without it as it is kept. */
  provider?: OAuthProvider | undefined;
  /** An access token that the server of the tool has refused. */
  refused?: string | undefined;
}

/**
 * A stored credential as a call can use it: tokens are refreshed before they end, and once where a server has refused them. Undefined
 * where a person has to consent first: to more scopes, or again.
 *
 * @throws OAuthFailed where the server can't be asked, or refuses the app; CredentialUnreadable, CredentialKeyMissing
 */
export async function currentTokens(
  connections: Connections,
  found: SealedCredential,
  need: Need,
): Promise<AuthCredential | undefined> {
  if (found.authType === REVOKED) return undefined;
  const { vault } = connections;
  const { app, credentialRef, expiresIn = Number.POSITIVE_INFINITY } = found;
  const credential = vault.unsealed(found);
  const { oauth2, serviceAccount } = credential;
  if (serviceAccount !== undefined) {
    // A user may have stored it: its server has to be on the public internet.
    const provider = { ...providerOfServiceAccount('the stored service account', serviceAccount), allow: [] };
    return await tokensOfApp(app, `account:${credentialRef}`, { ...need, provider });
  }
  if (oauth2 === undefined) return credential;
  if (!covers(found.scopes, need.scopes)) return undefined;
  const isRefused = oauth2.accessToken === need.refused;
  if (!isRefused && expiresIn > LEEWAY) return credential;
  if (oauth2.refreshToken === undefined) return isRefused || expiresIn <= 0 ? undefined : credential;
  return await refreshed(connections, found, need);
}

/** Tokens of apps themselves: each process has its own. */
const OF_APPS = new LRUCache<string, AuthCredential, { provider: OAuthProvider; scopes: readonly string[] }>({
  max: 1_000,
  ignoreFetchAbort: true,
  fetchMethod: async (_key, _before, { options, context: { provider, scopes } }) => {
    const tokens = await new OAuthClient(provider).ownTokens(scopes);
    if (tokens.expiresIn !== undefined) options.ttl = Math.max(tokens.expiresIn * 1_000 - LEEWAY, 1);
    return credentialOf(tokens, provider);
  },
});

/** The tokens of the app itself; calls that ask at the same time get the same ones. @throws OAuthFailed */
export async function tokensOfApp(
  app: string,
  credentialKey: string,
  { provider, refused, ...need }: Need & { provider: OAuthProvider },
): Promise<AuthCredential> {
  const scopes = [...new Set([...(provider.scopes ?? []), ...need.scopes])];
  const key = digestOf([app, credentialKey, scopes, { ...provider }]);
  const known = OF_APPS.get(key)?.oauth2?.accessToken;
  const forceRefresh = known !== undefined && known === refused;
  return await OF_APPS.forceFetch(key, { context: { provider, scopes }, forceRefresh });
}

/** One process at a time: strict servers end the whole grant where a refresh token comes twice. */
async function refreshed(
  connections: Connections,
  found: SealedCredential,
  need: Need,
): Promise<AuthCredential | undefined> {
  const { store, vault } = connections;
  const { app, userId, credentialKey } = found;
  const before = vault.unsealed(found).oauth2?.accessToken;
  const holder = randomUUID();
  const until = performance.now() + LONGEST_REFRESH;
  for (let now = found; performance.now() < until; await delay(LOOK_EVERY)) {
    if (await store.lease(now, holder, LONGEST_REFRESH))
      return await byRefreshToken(connections, now, need, holder);
    // Tokens of another consent have another reference.
    const later = await store.find({ app, userId, credentialKey });
    if (later === undefined || later.authType === REVOKED) return undefined;
    const credential = vault.unsealed(later);
    // Tokens that others have refreshed are as good as they get. Others may also have sealed them anew.
    if (credential.oauth2?.accessToken !== before)
      return covers(later.scopes, need.scopes) ? credential : undefined;
    now = later;
  }
  throw oauthFailed('unreachable', 'another worker still refreshes the tokens');
}

async function byRefreshToken(
  connections: Connections,
  now: SealedCredential,
  need: Need,
  holder: string,
): Promise<AuthCredential | undefined> {
  const { store, vault } = connections;
  const { app, credentialKey, sealed: before, scopes = [] } = now;
  const credential = vault.unsealed(now);
  const { accessToken, refreshToken = '', subject, ...from }: KeptTokens = credential.oauth2 ?? {};
  try {
    const known = need.provider?.clientId === undefined ? undefined : need.provider;
    const provider = known ?? (await connections.findProvider(app, credentialKey, from));
    if (provider === undefined)
      throw oauthFailed('misconfigured', `nobody knows the provider ${credentialKey}`);
    // Another worker may know another client already: its tokens stay.
    if (!hasGiven(provider, from)) return void (await store.replace({ credential: now, before, holder }));
    const refreshed = await new OAuthClient(provider).refresh(refreshToken);
    const tokens = { refreshToken, ...refreshed, ...defined({ subject }) };
    const renewed = credentialOf(tokens, provider);
    const { expiresAt: _at, expiresIn: _in, ...kept } = now;
    const facts = { ...factsOf(tokens, scopes), ...defined({ account: now.account }) };
    const row = { ...kept, ...vault.resealed(now, renewed), ...facts };
    await store.replace({ credential: row, before, holder });
    return covers(row.scopes, need.scopes) ? renewed : undefined;
  } catch (error) {
    const problem = error instanceof OAuthFailed ? error.problem : undefined;
    const isForgotten =
      problem === 'unknown_client' && (await connections.forgetClient(app, credentialKey, from.clientId));
    const isRevoked = isForgotten || problem === 'revoked';
    // Whose account it was stays known.
    await store.replace({ credential: isRevoked ? { ...now, authType: REVOKED } : now, before, holder });
    if (isRevoked) return undefined;
    if (!(error instanceof OAuthFailed)) throw error;
    const isUsable = (now.expiresIn ?? 0) > 0 && accessToken !== need.refused;
    if (isUsable && error.problem === 'unreachable') return credential;
    throw error;
  }
}

/** Scopes that servers leave out of what they say they have granted. */
const UNSAID = ['openid', 'offline_access'];

/** Whether tokens have these scopes. @param granted unknown for tokens that somebody has brought. */
export function covers(granted: readonly string[] | undefined, needed: readonly string[]): boolean {
  return granted === undefined || needed.every((scope) => granted.includes(scope) || UNSAID.includes(scope));
}

/** Facts of tokens that stand beside them in the store. @param asked scopes that were asked for. */
export function factsOf(
  { expiresIn, scopes: said, account }: TokenSet,
  asked: readonly string[],
): Pick<NewCredential, 'expiresIn' | 'scopes' | 'account'> {
  // Google says `…/auth/userinfo.email` for `email`, and Microsoft `https://graph.microsoft.com/User.Read` for `User.Read`.
  const isSaid = (scope: string) =>
    said?.some(
      (own) => own === scope || (/[/.]/.test(own.at(-scope.length - 1) ?? '') && own.endsWith(scope)),
    );
  const known = asked.filter(isSaid);
  // A server whose names are all its own says nothing of what it has left out.
  const scopes = [...new Set([...(known.length > 0 ? known : asked), ...(said ?? [])])];
  return { scopes, ...defined({ account, expiresIn: expiresIn && expiresIn * 1_000 }) };
}

/** Tokens in ADK's form. */
export function credentialOf(
  { accessToken, refreshToken, idToken, subject }: TokenSet,
  provider: OAuthProvider,
): AuthCredential {
  const oauth2 = { accessToken, ...defined({ refreshToken, idToken, subject }), ...partiesOf(provider) };
  return { authType: 'oauth2', oauth2 };
}
