import { randomUUID } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import type { AuthCredential, AuthCredentialTypes, OAuth2Auth } from '../events/auth-credential.ts';
import type { AuthScheme } from '../events/auth-scheme.ts';
import type { AuthConfig } from '../events/event-actions.ts';
import { defined } from '../protocol/json.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import {
  authorizationUrl,
  type GuardedHttp,
  guardedHttp,
  OAuthClient,
  serverMetadata,
} from './oauth-client.ts';
import { OAuthFailed } from './oauth-failed.ts';
import { isForPeople, isOAuthScheme, providerOfAuthConfig, scopesOf } from './oauth-provider.ts';

/** A person's way back as clients of ADK tell of it, by its address or the code; undefined where they don't. @param asked the way there. */
export function wayBackOf(told: OAuth2Auth, asked: OAuth2Auth = {}) {
  const { accessToken, authResponseUri, authCode, state = '', redirectUri } = { ...asked, ...told };
  const uri = URL.parse(String(authResponseUri));
  const fields = uri?.searchParams ?? (authCode && new URLSearchParams({ code: authCode, state }));
  if (accessToken !== undefined || !fields) return undefined;
  return { fields, redirectUri: String(redirectUri ?? (uri ? `${uri.origin}${uri.pathname}` : '')) };
}

export class CredentialExchangeError extends OAuthFailed {}

export interface ExchangeResult {
  credential: AuthCredential;
  wasExchanged: boolean;
}

export interface BaseCredentialExchanger {
  exchange(params: { authScheme?: AuthScheme; authCredential: AuthCredential }): Promise<ExchangeResult>;
}

/** Semantics: `OAuth2CredentialExchanger` of `@google/adk` 2.0.0, but a code goes with its `codeVerifier`. */
export class OAuth2CredentialExchanger implements BaseCredentialExchanger {
  /** @throws CredentialExchangeError */
  async exchange(params: Parameters<BaseCredentialExchanger['exchange']>[0]): Promise<ExchangeResult> {
    const { authScheme = {}, authCredential: credential } = params;
    if (credential.oauth2?.accessToken) return { credential, wasExchanged: false };
    try {
      const oauth2 = await exchanged({ authScheme, rawAuthCredential: credential, credentialKey: '' });
      return { credential: { ...credential, oauth2 }, wasExchanged: true };
    } catch (cause) {
      throw new CredentialExchangeError(`Failed to exchange tokens: ${thrownMessage(cause)}`, { cause });
    }
  }
}

async function exchanged(authConfig: AuthConfig): Promise<OAuth2Auth> {
  const { oauth2 = {} } = authConfig.rawAuthCredential ?? {};
  const { state = randomUUID(), codeVerifier: verifier, nonce = '' } = oauth2;
  const provider = providerOfAuthConfig('OAuth2CredentialExchanger', authConfig);
  if (provider === undefined) throw new TypeError('an authScheme of OAuth and a clientId are required');
  const back = wayBackOf({ ...oauth2, state });
  const isBack = back !== undefined && verifier !== undefined;
  if (isForPeople(provider) && !isBack)
    throw new TypeError('codeVerifier, and authCode or authResponseUri, are required');
  const client = new OAuthClient(provider);
  const { accessToken, refreshToken, idToken, expiresIn } = isBack
    ? await client.exchange(back.fields, { ...back, state, verifier, nonce })
    : await client.ownTokens(scopesOf(authConfig));
  const expiresAt = expiresIn && Date.now() + expiresIn * 1_000;
  return { ...oauth2, ...defined({ accessToken, refreshToken, idToken, expiresIn, expiresAt }) };
}

/** By the states that they were parsed for: a state is stored, and has no secret. */
const parsed = new WeakMap<object, Map<string, AuthCredential>>();

/** Semantics: `AuthHandler` of `@google/adk` 2.0.0, with PKCE, in this process: tools ask by `context.requestCredential`. */
export class AuthHandler {
  readonly #config: AuthConfig;

  constructor(authConfig: AuthConfig) {
    this.#config = authConfig;
  }

  getAuthResponse(state: object): AuthCredential | undefined {
    return parsed.get(state)?.get(this.#config.credentialKey);
  }

  /** @throws CredentialExchangeError */
  async parseAndStoreAuthResponse(state: object): Promise<void> {
    const { authScheme, credentialKey, exchangedAuthCredential: authCredential } = this.#config;
    if (authCredential === undefined) return;
    const { credential } = isOAuthScheme(authScheme)
      ? await new OAuth2CredentialExchanger().exchange({ authScheme, authCredential })
      : { credential: authCredential };
    parsed.set(state, (parsed.get(state) ?? new Map()).set(credentialKey, credential));
  }

  generateAuthRequest(): AuthConfig {
    const { authScheme, rawAuthCredential: raw, exchangedAuthCredential: exchanged } = this.#config;
    if (!isOAuthScheme(authScheme) || exchanged?.oauth2?.authUri) return this.#config;
    const asked = raw?.oauth2?.authUri ? raw : this.generateAuthUri();
    if (asked?.oauth2 === undefined) throw new TypeError('AuthHandler: rawAuthCredential.oauth2 is required');
    return { ...this.#config, exchangedAuthCredential: asked };
  }

  /** With `state`, `nonce` and `codeVerifier` for the exchange: keep them from clients. */
  generateAuthUri(): AuthCredential | undefined {
    const { rawAuthCredential: raw } = this.#config;
    if (raw?.oauth2 === undefined) return raw;
    const provider = providerOfAuthConfig('AuthHandler', this.#config);
    if (provider?.authorizationEndpoint === undefined)
      throw new TypeError('Authorization endpoint not configured in auth scheme.');
    const [state = '', nonce = '', codeVerifier = ''] = [1, 2, 3].map(oauth.generateRandomCodeVerifier);
    const flow = { state, nonce, verifier: codeVerifier, redirectUri: raw.oauth2.redirectUri ?? '' };
    const authUri = authorizationUrl(provider, provider.authorizationEndpoint, flow, provider.scopes ?? []);
    return { ...raw, oauth2: { ...raw.oauth2, authUri, state, nonce, codeVerifier } };
  }
}

/** Semantics: `OAuth2DiscoveryManager` of `@google/adk` 2.0.0. */
export class OAuth2DiscoveryManager {
  readonly #http: GuardedHttp;

  /** @param options.allow hosts that are no part of the public internet, or have no TLS. Defaults to none. */
  constructor({ allow }: { allow?: readonly string[] } = {}) {
    this.#http = guardedHttp(allow);
  }

  discoverAuthServerMetadata(issuerUrl: string): Promise<oauth.AuthorizationServer | undefined> {
    return orNone(() => serverMetadata(new URL(issuerUrl), this.#http));
  }

  discoverResourceMetadata(resourceUrl: string): Promise<oauth.ResourceServer | undefined> {
    return orNone(async () => {
      const url = new URL(resourceUrl);
      const answer = await oauth.resourceDiscoveryRequest(url, this.#http);
      return { authorization_servers: [], ...(await oauth.processResourceDiscoveryResponse(url, answer)) };
    });
  }
}

/** Answers and addresses that are wrong have codes. */
async function orNone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}

export interface BaseCredentialRefresher {
  isRefreshNeeded(authCredential: AuthCredential, authScheme?: AuthScheme): Promise<boolean>;
  refresh(authCredential: AuthCredential, authScheme?: AuthScheme): Promise<AuthCredential>;
}

export interface BaseAuthProvider {
  getAuthCredential(authConfig: AuthConfig, context?: unknown): Promise<AuthCredential | undefined>;
}

/** A program's own: neither ADK 2.0.0 nor Holdfast asks it. */
export class CredentialRefresherRegistry {
  readonly #refreshers = new Map<AuthCredentialTypes, BaseCredentialRefresher>();

  register(credentialType: AuthCredentialTypes, refresher: BaseCredentialRefresher): void {
    this.#refreshers.set(credentialType, refresher);
  }

  getRefresher(credentialType: AuthCredentialTypes): BaseCredentialRefresher | undefined {
    return this.#refreshers.get(credentialType);
  }
}

/** A program's own: neither ADK 2.0.0 nor Holdfast asks it. */
export class AuthProviderRegistry {
  readonly #providers = new Map<string, BaseAuthProvider>();

  register(authSchemeType: string, provider: BaseAuthProvider): void {
    this.#providers.set(authSchemeType, provider);
  }

  getProvider({ type }: AuthScheme): BaseAuthProvider | undefined {
    return this.#providers.get(type);
  }
}
