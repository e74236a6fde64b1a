import { createHash, randomBytes } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import type { StoredCredential } from '../contract/credentials.ts';
import type { CredentialVault } from '../credentials/credential-vault.ts';
import { openText, sealText } from '../credentials/seal.ts';
import { defined } from '../protocol/json.ts';
import type { CredentialStore } from '../store/credentials/credential-store.ts';
import type { KeptProviders } from './kept-providers.ts';
import type { TokenSet } from './oauth-answers.ts';
import { type AuthorizationSecrets, type DeviceCode, OAuthClient } from './oauth-client.ts';
import { oauthFailed } from './oauth-failed.ts';
import type { OAuthProvider } from './oauth-provider.ts';
import { covers, credentialOf, factsOf } from './tokens.ts';

/** The tokens that somebody is asked to consent to. */
export interface WantedTokens {
  app: string;
  userId: string;
  credentialKey: string;
  /** Scopes without which the call that asks doesn't run. */
  needs: readonly string[];
}

/** A person's way to the server and back, as the field `state` carries it: sealed. */
interface Flow extends WantedTokens, AuthorizationSecrets {
  scopes: readonly string[];
  clientId: string;
  /** SHA-256 of the cookie of the browser that may come back. */
  browser?: string;
  /** Milliseconds since the epoch. */
  until?: number;
}

/** A way that has begun. */
export interface BegunConsent {
  url: string;
  /** The flow, sealed; it is the `state` of the address. */
  state: string;
  clientId: string;
}

const STATE = 'oauth state';

/** People's consent at authorization servers: the way there, and back with tokens. */
export class Consent {
  readonly #store: CredentialStore;
  readonly #vault: CredentialVault;
  readonly #providers: KeptProviders;

  constructor(store: CredentialStore, vault: CredentialVault, providers: KeptProviders) {
    this.#store = store;
    this.#vault = vault;
    this.#providers = providers;
  }

  /**
   * The address where a person consents.
   *
   * @param by.redirectUri address of the way back.
   * @param by.browser cookie of the only browser that may come back.
   * @param by.until when it is too late to come back, milliseconds since the epoch.
   * @throws OAuthFailed, CredentialKeyMissing
   */
  async begin(
    wanted: WantedTokens,
    by: { redirectUri: string; browser?: string; until?: number; provider?: OAuthProvider },
  ): Promise<BegunConsent> {
    const { redirectUri, browser, until } = by;
    const provider = by.provider ?? (await this.#providerFor(wanted, redirectUri));
    const { clientId = '' } = provider;
    const scopes = await this.#scopesOf(wanted, provider);
    const flow: Omit<Flow, 'state'> = {
      ...wanted,
      ...{ scopes, redirectUri, clientId },
      verifier: oauth.generateRandomCodeVerifier(),
      nonce: oauth.generateRandomNonce(),
      ...defined({ until, browser: browser === undefined ? undefined : hashOf(browser) }),
    };
    const state = sealText(this.#vault.ownKeys(), STATE, flow);
    const url = await new OAuthClient(provider).authorizationUrl({ ...flow, state }, scopes);
    return { url, state, clientId };
  }

  /**
   * What was wanted by the way that a person comes back from; undefined for a state that is none of ours, or was begun in another browser.
   *
   * @throws CredentialKeyMissing
   */
  wantedBy(state: string, browser: string | undefined): WantedTokens | undefined {
    const flow = this.#flow(state);
    return flow?.browser === hashOf(browser ?? '') ? flow : undefined;
  }

  /**
   * Keeps the tokens for the code with which a person came back.
   *
   * @param callback the fields of the way back.
   * @param by.browser cookie of the browser that came back.
   * @param by.owner the only app and user whose tokens these may be.
   * @throws OAuthFailed, CredentialKeyMissing
   */
  async finish(
    callback: URLSearchParams,
    by: {
      now: number;
      browser?: string | undefined;
      redirectUri?: string | undefined;
      owner?: { app: string; userId: string };
    },
  ): Promise<StoredCredential> {
    const state = callback.get('state') ?? '';
    const flow = this.#flow(state);
    if (flow === undefined)
      throw oauthFailed('invalid', 'the state of this way back is none that was given out here');
    if (flow.browser !== undefined && flow.browser !== hashOf(by.browser ?? ''))
      throw oauthFailed('invalid', 'another browser has begun this: open the link again in this one');
    if (flow.until !== undefined && flow.until < by.now)
      throw oauthFailed('expired', 'this way back was open for an hour: open the link again');
    if (by.owner !== undefined && (by.owner.app !== flow.app || by.owner.userId !== flow.userId))
      throw oauthFailed('invalid', 'this way back is of another user');
    const { app, credentialKey, clientId } = flow;
    const provider = await this.#providers.find(app, credentialKey);
    if (provider === undefined || provider.clientId !== clientId)
      throw oauthFailed(
        'misconfigured',
        `the provider ${credentialKey} has changed meanwhile: open the link again`,
      );
    const redirectUri = flow.redirectUri === '' ? (by.redirectUri ?? '') : flow.redirectUri;
    const tokens = await new OAuthClient(provider).exchange(callback, { ...flow, state, redirectUri });
    return await this.#kept(flow, provider, tokens);
  }

  /** Begins the flow of another device. @throws OAuthFailed */
  async beginAtDevice(wanted: WantedTokens): Promise<DeviceCode> {
    const provider = await this.#providerFor(wanted, '');
    return await new OAuthClient(provider).deviceCode(await this.#scopesOf(wanted, provider));
  }

  /** Keeps the tokens of another device; undefined while the person hasn't consented there. @throws OAuthFailed */
  async finishAtDevice(wanted: WantedTokens, deviceCode: string): Promise<StoredCredential | undefined> {
    const provider = await this.#providerFor(wanted, '');
    const scopes = await this.#scopesOf(wanted, provider);
    const tokens = await new OAuthClient(provider).deviceTokens(deviceCode);
    return tokens && (await this.#kept({ ...wanted, scopes }, provider, tokens));
  }

  async #kept(
    { app, userId, credentialKey, scopes, needs }: WantedTokens & Pick<Flow, 'scopes'>,
    { clientId }: OAuthProvider,
    tokens: TokenSet,
  ): Promise<StoredCredential> {
    const facts = factsOf(tokens, scopes);
    const missing = needs.filter((scope) => !covers(facts.scopes, [scope]));
    if (missing.length > 0)
      throw oauthFailed(
        'denied',
        `consent was given, but not to ${missing.join(', ')}, which the tool needs: nothing is kept, and you can consent again`,
      );
    const before = await this.#store.find({ app, userId, credentialKey });
    if (before?.account !== undefined && facts.account !== undefined && before.account !== facts.account)
      throw oauthFailed(
        'invalid',
        `this is the account ${facts.account}, and ${before.account} is connected: disconnect that first, or consent with it`,
      );
    const credential = credentialOf(tokens, clientId);
    const sealed = this.#vault.sealed({ app, userId, credentialKey, credential });
    return await this.#store.put({ ...sealed, ...facts });
  }

  /** With a client, which is registered where the provider has none. */
  async #providerFor({ app, credentialKey }: WantedTokens, redirectUri: string): Promise<OAuthProvider> {
    const provider = await this.#providers.find(app, credentialKey);
    if (provider === undefined)
      throw oauthFailed(
        'misconfigured',
        `no worker of the app ${app} has told of a provider ${credentialKey}`,
      );
    const { clientId, registeredFor = redirectUri } = provider;
    if (clientId !== undefined && registeredFor === redirectUri) return provider;
    const client = await new OAuthClient(provider).register(`${app} (Holdfast)`, redirectUri);
    await this.#providers.addClient(app, credentialKey, client);
    return { ...provider, ...client };
  }

  /** Those of the provider, of the tool, and those that the user has consented to before: a new consent replaces it. */
  async #scopesOf({ needs, ...owner }: WantedTokens, { scopes = [] }: OAuthProvider): Promise<string[]> {
    const before = await this.#store.find(owner);
    return [...new Set([...scopes, ...needs, ...(before?.scopes ?? [])])];
  }

  #flow(state: string): Flow | undefined {
    const flow = openText<Omit<Flow, 'state'>>(this.#vault.ownKeys(), STATE, state);
    return flow && { ...flow, state };
  }
}

function hashOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url');
}

/** What a browser keeps while its person is at the server. */
export function newBrowserCookie(): string {
  return randomBytes(32).toString('base64url');
}
