import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { CredentialVault } from '../credentials/credential-vault.ts';
import type { AuthCredential, OAuth2Auth } from '../events/auth-credential.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import { defined } from '../protocol/json.ts';
import type {
  CredentialStore,
  FoundCredential,
  NewCredential,
} from '../store/credentials/credential-store.ts';
import { KeptProviders } from './kept-providers.ts';
import type { TokenSet } from './oauth-answers.ts';
import { OAuthClient } from './oauth-client.ts';
import { OAuthFailed, oauthFailed } from './oauth-failed.ts';
import { type OAuthProvider, providerOfServiceAccount } from './oauth-provider.ts';

/** Milliseconds before their end at which tokens are refreshed. */
const LEEWAY = 60_000;
/** Milliseconds that a refresh may take: metadata, and the tokens. */
const LONGEST_REFRESH = 30_000;
/** Milliseconds between two looks at a refresh of another process. */
const LOOK_EVERY = 100;

/** `authType` of tokens that their server takes no longer: a person consents again, with the same account. */
const REVOKED = 'revoked';

/** A call's need of a user's tokens. */
export interface Need {
  /** Scopes that the tokens have to have. */
  scopes: readonly string[];
  /** The provider as this process knows it; without it as it is kept. */
  provider?: OAuthProvider | undefined;
  /** An access token that the server of the tool has refused. */
  refused?: string | undefined;
}

/** Tokens as calls use them: refreshed before they end, and once where a server has refused them. */
export class Tokens {
  readonly #store: CredentialStore;
  readonly #vault: CredentialVault;
  readonly #providers: KeptProviders;
  /** Refreshes of this process by the references of their tokens: its other calls wait for them. */
  readonly #refreshing = new Map<string, Promise<AuthCredential | undefined>>();

  /** Tokens of apps themselves: each process has its own. */
  readonly #own = new LRUCache<string, Promise<OwnTokens>>({ max: 1_000 });

  constructor(store: CredentialStore, vault: CredentialVault) {
    this.#store = store;
    this.#vault = vault;
    this.#providers = new KeptProviders(store, vault);
  }

  /**
   * A stored credential as a call can use it. Undefined where a person has to consent first: to more scopes, or again.
   *
   * @throws OAuthFailed where the server can't be asked, or refuses the app; CredentialUnreadable, CredentialKeyMissing
   */
  async current(found: FoundCredential, need: Need): Promise<AuthCredential | undefined> {
    if (found.authType === REVOKED) return undefined;
    const credential = this.#vault.unsealed(found);
    const { oauth2, serviceAccount } = credential;
    if (serviceAccount !== undefined) {
      const provider = providerOfServiceAccount('the stored service account', serviceAccount);
      return await this.ofApp(found.app, `account:${found.credentialRef}`, { ...need, provider });
    }
    if (oauth2 === undefined) return credential;
    if (!covers(found.scopes, need.scopes)) return undefined;
    const { expiresIn = Number.POSITIVE_INFINITY } = found;
    const isRefused = oauth2.accessToken === need.refused;
    if (!isRefused && expiresIn > LEEWAY) return credential;
    if (oauth2.refreshToken === undefined) return isRefused || expiresIn <= 0 ? undefined : credential;
    const running = this.#refreshing.get(found.credentialRef);
    if (running !== undefined) return await running;
    const refreshing = this.#refreshed(found, need);
    this.#refreshing.set(found.credentialRef, refreshing);
    return await refreshing.finally(() => this.#refreshing.delete(found.credentialRef));
  }

  /** The tokens of the app itself. @throws OAuthFailed */
  async ofApp(
    app: string,
    credentialKey: string,
    need: Need & { provider: OAuthProvider },
  ): Promise<AuthCredential> {
    const { provider } = need;
    const scopes = [...new Set([...(provider.scopes ?? []), ...need.scopes])];
    const key = digestOf([app, credentialKey, scopes, { ...provider }]);
    const known = this.#own.get(key);
    const own = await known?.catch(() => undefined);
    const isGood = own !== undefined && own.until > performance.now();
    if (isGood && own.credential.oauth2?.accessToken !== need.refused) return own.credential;
    // Others may have asked meanwhile.
    if (this.#own.get(key) === known) this.#own.set(key, ownTokens(provider, scopes));
    return ((await this.#own.get(key)) ?? (await ownTokens(provider, scopes))).credential;
  }

  /** One process at a time: strict servers end the whole grant where a refresh token comes twice. */
  async #refreshed(found: FoundCredential, need: Need): Promise<AuthCredential | undefined> {
    const { app, userId, credentialRef } = found;
    const holder = randomUUID();
    const lease = { app, userId, credentialRef, holder, milliseconds: LONGEST_REFRESH };
    const until = performance.now() + LONGEST_REFRESH;
    for (;;) {
      const isHeld = await this.#store.lease(lease);
      const now = await this.#store.find({ app, userId, credentialRef });
      if (isHeld && now?.sealed === found.sealed) return await this.#byRefreshToken(now, need, holder);
      // Tokens that others have refreshed are as good as they get.
      if (now?.sealed !== found.sealed) {
        if (isHeld && now !== undefined)
          await this.#store.replace({ credential: asNew(now), before: now.sealed, holder });
        return now && covers(now.scopes, need.scopes) ? this.#vault.unsealed(now) : undefined;
      }
      if (performance.now() > until)
        throw oauthFailed('unreachable', 'another worker still refreshes the tokens');
      await delay(LOOK_EVERY);
    }
  }

  async #byRefreshToken(
    now: FoundCredential,
    need: Need,
    holder: string,
  ): Promise<AuthCredential | undefined> {
    const { app, userId, credentialKey, credentialRef, scopes = [] } = now;
    const before = this.#vault.unsealed(now).oauth2 as OAuth2Auth;
    const { clientId = '', refreshToken = '' } = before;
    try {
      const known = need.provider?.clientId === undefined ? undefined : need.provider;
      const provider = known ?? (await this.#providers.find(app, credentialKey));
      if (provider === undefined)
        throw oauthFailed('misconfigured', `nobody knows the provider ${credentialKey}`);
      // They go to no server but the one that has given them: an MCP server may name another one later.
      if (clientId !== '' && provider.clientId !== clientId)
        throw oauthFailed('revoked', 'the tokens are of another client');
      const tokens = { refreshToken, ...(await new OAuthClient(provider).refresh(refreshToken)) };
      const credential = credentialOf(tokens, clientId);
      const place = { app, userId, credentialKey, credentialRef };
      const resealed = {
        ...asNew(now),
        ...this.#vault.resealed(place, credential),
        ...factsOf(tokens, scopes),
        ...defined({ account: now.account }),
      };
      const { expiresAt: _before, ...renewed } = resealed;
      const isKept = await this.#store.replace({ credential: renewed, before: now.sealed, holder });
      if (isKept) return covers(renewed.scopes, need.scopes) ? credential : undefined;
      const later = await this.#store.find(place);
      return later && this.#vault.unsealed(later);
    } catch (error) {
      const isRevoked = error instanceof OAuthFailed && error.problem === 'revoked';
      // Whose account it was stays known.
      const credential = isRevoked ? { ...asNew(now), authType: REVOKED } : asNew(now);
      await this.#store.replace({ credential, before: now.sealed, holder });
      if (isRevoked) return undefined;
      if (!(error instanceof OAuthFailed)) throw error;
      const isUsable = (now.expiresIn ?? 0) > 0 && before.accessToken !== need.refused;
      if (isUsable && error.problem === 'unreachable') return this.#vault.unsealed(now);
      throw error;
    }
  }
}

/** The app's own tokens, and until when they are good, by `performance.now()`. */
interface OwnTokens {
  credential: AuthCredential;
  until: number;
}

async function ownTokens(provider: OAuthProvider, scopes: readonly string[]): Promise<OwnTokens> {
  const tokens = await new OAuthClient(provider).ownTokens(scopes);
  const { expiresIn = Number.POSITIVE_INFINITY } = tokens;
  return {
    credential: credentialOf(tokens, provider.clientId),
    until: performance.now() + expiresIn * 1_000 - LEEWAY,
  };
}

/** Scopes that servers leave out of what they say they have granted. */
const UNSAID = ['openid', 'offline_access'];

/** Whether tokens have these scopes. @param granted unknown for tokens that somebody has brought. */
export function covers(granted: readonly string[] | undefined, needed: readonly string[]): boolean {
  return granted === undefined || needed.every((scope) => granted.includes(scope) || UNSAID.includes(scope));
}

/** Facts of tokens that stand beside them in the store. @param asked scopes that were asked for. */
export function factsOf(
  { expiresIn, scopes, account }: TokenSet,
  asked: readonly string[],
): Pick<NewCredential, 'expiresIn' | 'scopes' | 'account'> {
  return {
    scopes: grantedOf(scopes, asked),
    ...defined({ account, expiresIn: expiresIn === undefined ? undefined : expiresIn * 1_000 }),
  };
}

/** A server with names of its own, as Google's, says nothing of what it has left out. One with the same names does. */
function grantedOf(said: readonly string[] | undefined, asked: readonly string[]): string[] {
  if (said === undefined || !said.every((scope) => asked.includes(scope)))
    return [...new Set([...asked, ...(said ?? [])])];
  return [...said];
}

/** Tokens in ADK's form. */
export function credentialOf(
  { accessToken, refreshToken, idToken }: TokenSet,
  clientId: string | undefined,
): AuthCredential {
  return { authType: 'oauth2', oauth2: { accessToken, ...defined({ refreshToken, idToken, clientId }) } };
}

function asNew({ expiresIn: _left, ...stored }: FoundCredential): NewCredential {
  return stored;
}
