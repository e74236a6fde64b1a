import { createPrivateKey, type KeyObject, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import type { OAuth2Auth } from '../events/auth-credential.ts';
import { guardedFetch } from '../net/guarded-fetch.ts';
import { sha256Digest } from '../protocol/identity.ts';
import { defined, isRecord, parsedJson } from '../protocol/json.ts';
import { failed, type OAuthFailed, oauthFailed } from './oauth-failed.ts';
import { CLIENT_PROOFS, type OAuthProvider } from './oauth-provider.ts';

/** Milliseconds that one request may take. */
const TIMEOUT = 10_000;
const MOST_BYTES = 256 * 1024;
/** Seconds: ten years. */
const LONGEST_TOKENS = 315_360_000;
/** Seconds by which the clocks of server and gateway may differ. */
const CLOCK_TOLERANCE = 60;

/** The client of a registration (RFC 7591). */
export interface RegisteredClient extends Pick<OAuthProvider, 'clientSecret' | 'clientAuthentication'> {
  clientId: string;
  /** Address of the way back that it may name. */
  registeredFor: string;
}

/** The part of a flow that only its beginning and its end know. */
export interface AuthorizationSecrets {
  state: string;
  verifier: string;
  nonce: string;
  redirectUri: string;
}

/** Tokens as a server has given them; `expiresIn` in seconds, absent where the server says nothing. */
export interface TokenSet extends Pick<OAuth2Auth, 'refreshToken' | 'idToken' | 'expiresIn'> {
  accessToken: string;
  /** Granted scopes; absent where they are those that were asked for. */
  scopes?: string[];
  /** The account of the person who has consented, for people: the `email` or `sub` of the ID token. */
  account?: string;
  /** The `sub` of the ID token. */
  subject?: string;
}

/** A code that a person enters at another device. */
export type DeviceCode = oauth.DeviceAuthorizationResponse;

type Endpoint =
  `${'authorization' | 'device_authorization' | 'registration' | 'revocation' | 'token'}_endpoint`;

/** A server, the client there, and its proof. */
type To = [server: oauth.AuthorizationServer, client: oauth.Client, proof: oauth.ClientAuth];

/** Speaks to one authorization server for one client. Each method throws {@link OAuthFailed}. */
export class OAuthClient {
  readonly #provider: OAuthProvider;
  readonly #http: GuardedHttp;
  #metadata: Promise<oauth.AuthorizationServer> | undefined;

  constructor(provider: OAuthProvider) {
    this.#provider = provider;
    this.#http = guardedHttp(provider.allow);
  }

  /** The address at which a person consents. */
  async authorizationUrl(flow: AuthorizationSecrets, scopes: readonly string[]): Promise<string> {
    return await this.#told('authorization_endpoint', async ({ authorization_endpoint: endpoint = '' }) =>
      authorizationUrl(this.#provider, endpoint, flow, scopes),
    );
  }

  /** Tokens for the code by which a person came back. @param callback the fields of the way back. */
  async exchange(callback: URLSearchParams, flow: AuthorizationSecrets): Promise<TokenSet> {
    const { state, nonce, verifier, redirectUri } = flow;
    return await this.#tokens(
      async (server, client, proof) => {
        if (redirectUri === '')
          throw oauthFailed('invalid', 'the address of the way back is needed: redirectUri');
        const issuer = this.#provider.issuer === undefined ? issuerOf(callback, server) : server.issuer;
        const code = oauth.validateAuthResponse({ ...server, issuer }, client, callback, state);
        const to: To = [server, client, proof];
        const more = this.#ofResource();
        return await oauth.authorizationCodeGrantRequest(...to, code, redirectUri, verifier, more);
      },
      async (server, client, answer) => {
        const expectedNonce =
          nonce === '' || (await jsonOf(answer))?.id_token === undefined ? oauth.expectNoNonce : nonce;
        return await oauth.processAuthorizationCodeResponse(server, client, answer, { expectedNonce });
      },
    );
  }

  /** New tokens for a refresh token, which strict servers take once. */
  async refresh(refreshToken: string): Promise<TokenSet> {
    return await this.#tokens(
      (...to) => oauth.refreshTokenGrantRequest(...to, refreshToken, this.#ofResource()),
      oauth.processRefreshTokenResponse,
    );
  }

  /** Tokens of the app itself: client credentials, or a service account. */
  async ownTokens(scopes: readonly string[]): Promise<TokenSet> {
    if (this.#provider.grant === 'jwt_bearer') return await this.#ofAssertion(scopes.join(' ') || undefined);
    return await this.#tokens(
      (...to) => oauth.clientCredentialsGrantRequest(...to, this.#wanted(scopes), this.#http),
      oauth.processClientCredentialsResponse,
    );
  }

  /** Begins the flow of another device. */
  async deviceCode(scopes: readonly string[]): Promise<DeviceCode> {
    return await this.#told('device_authorization_endpoint', async (...to) => {
      const answer = await oauth.deviceAuthorizationRequest(...to, this.#wanted(scopes), this.#http);
      const code = await oauth.processDeviceAuthorizationResponse(to[0], to[1], answer);
      const { verification_uri: page, verification_uri_complete: whole = page } = code;
      if ([page, whole].every((address) => /^https?:\/\//.test(address))) return code;
      throw oauthFailed('invalid', 'the address where people enter the code is none of https');
    });
  }

  /** Tokens for a device code. */
  async deviceTokens(deviceCode: string): Promise<TokenSet> {
    return await this.#tokens(
      (...to) => oauth.deviceCodeGrantRequest(...to, deviceCode, this.#http),
      oauth.processDeviceCodeResponse,
    );
  }

  async revoke(token: string): Promise<void> {
    return await this.#told('revocation_endpoint', async (...to) => {
      await oauth.processRevocationResponse(await oauth.revocationRequest(...to, token, this.#http));
    });
  }

  /** Registers a client of this app. */
  async register(name: string, redirectUri: string): Promise<RegisteredClient> {
    return await this.#told('registration_endpoint', async (server) => {
      const { token_endpoint_auth_methods_supported: methods = ['none'] } = server;
      const wanted = {
        ...{ client_name: name, redirect_uris: [redirectUri], application_type: 'web' },
        ...{ response_types: ['code'], grant_types: ['authorization_code', 'refresh_token'] },
        token_endpoint_auth_method: methods.includes('none') ? 'none' : methods[0],
      };
      const answer = await oauth.dynamicClientRegistrationRequest(server, wanted, this.#http);
      // RFC 7591 has it required, and many servers leave it out.
      const whole = await changed(answer, (given) => ({ client_secret_expires_at: 0, ...given }));
      const client = await oauth.processDynamicClientRegistrationResponse(whole);
      const clientAuthentication = CLIENT_PROOFS.find((each) => each === client.token_endpoint_auth_method);
      const clientSecret = client.client_secret as string | undefined;
      return {
        ...{ clientId: client.client_id, registeredFor: redirectUri },
        ...defined({ clientSecret, clientAuthentication }),
      };
    });
  }

  async #ofAssertion(scope: string | undefined): Promise<TokenSet> {
    const { clientId = '', privateKey = '', audience } = this.#provider;
    return await this.#tokens(async (server, client) => {
      const key = privateKeyOf(privateKey);
      const alg = { rsa: 'RS256', ec: 'ES256' }[String(key.asymmetricKeyType)] ?? 'EdDSA';
      const who = { iss: clientId, sub: clientId, aud: server.token_endpoint ?? '', jti: randomUUID() };
      const assertion = await new SignJWT({ ...who, ...defined({ scope, target_audience: audience }) })
        .setProtectedHeader({ alg, typ: 'JWT' })
        .setIssuedAt()
        .setExpirationTime('5 minutes')
        .sign(key);
      const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
      const to: To = [server, client, oauth.None()];
      const sent = defined({ assertion, scope });
      const answer = await oauth.genericTokenEndpointRequest(...to, grant, sent, this.#http);
      if (audience === undefined) return answer;
      // Google answers with an ID token alone where one was asked for.
      return await changed(answer, ({ id_token: idToken, ...given }) =>
        idToken === undefined ? given : { access_token: idToken, token_type: 'bearer', expires_in: 3_600 },
      );
    }, oauth.processGenericTokenEndpointResponse);
  }

  #wanted(scopes: readonly string[]) {
    const { resource, audience } = this.#provider;
    return defined({ scope: scopes.join(' ') || undefined, resource, audience });
  }

  #ofResource() {
    return { ...this.#http, additionalParameters: defined({ resource: this.#provider.resource }) };
  }

  #proof({ token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret, clientAuthentication: chosen } = this.#provider;
    if (clientSecret === undefined || chosen === 'none') return oauth.None();
    const isPost = chosen === undefined && methods?.includes('client_secret_basic') === false;
    return chosen === 'client_secret_post' || isPost
      ? oauth.ClientSecretPost(clientSecret)
      : oauth.ClientSecretBasic(clientSecret);
  }

  /** Given endpoints go before those of the metadata. */
  async #discovered(needed: Endpoint): Promise<oauth.AuthorizationServer> {
    const provider = this.#provider;
    const { issuer, authorizationEndpoint, tokenEndpoint } = provider;
    const given: Partial<oauth.AuthorizationServer> = defined({
      authorization_endpoint: authorizationEndpoint,
      token_endpoint: tokenEndpoint,
      device_authorization_endpoint: provider.deviceAuthorizationEndpoint,
      revocation_endpoint: provider.revocationEndpoint,
    });
    if (issuer === undefined)
      return { issuer: new URL(authorizationEndpoint ?? tokenEndpoint ?? '').origin, ...given };
    const begins = provider.grant === 'authorization_code' ? ['authorization_endpoint'] : [];
    if ([...begins, 'token_endpoint', needed].every((name) => name in given)) return { issuer, ...given };
    this.#metadata ??= serverMetadata(new URL(issuer), this.#http);
    const server = { ...(await this.#metadata), ...given };
    // A server that says it knows plain challenges only would take a code from anybody who has read the request.
    if (server.code_challenge_methods_supported?.includes('S256') === false)
      throw oauthFailed('misconfigured', 'its metadata has no S256 among the methods of PKCE');
    return server;
  }

  /** Asks for tokens, and reads them. */
  async #tokens(
    send: (...to: To) => Promise<Response>,
    read: (server: To[0], client: To[1], answer: Response) => Promise<oauth.TokenEndpointResponse>,
  ): Promise<TokenSet> {
    return await this.#told('token_endpoint', async (...to) => {
      const answer = await send(...to);
      const { issuer } = this.#provider;
      // An ID token tells nothing where nobody has said who may issue it.
      const proven = issuer ? answer : await changed(answer, ({ id_token: _unproven, ...known }) => known);
      return tokensOf(await read(to[0], to[1], proven));
    });
  }

  async #told<T>(needed: Endpoint, work: (...to: To) => Promise<T>): Promise<T> {
    try {
      const server = await this.#discovered(needed);
      if (!/^https?:\/\//.test(server[needed] ?? '')) throw lacks(needed);
      const { clientId } = this.#provider;
      if (clientId === undefined && needed !== 'registration_endpoint')
        throw oauthFailed('misconfigured', 'no client is registered there yet');
      const client = { client_id: clientId ?? '', [oauth.clockTolerance]: CLOCK_TOLERANCE };
      return await work(server, client, this.#proof(server));
    } catch (error) {
      throw failed(error, this.#provider);
    }
  }
}

/** The address at which a person consents, of a server whose endpoint is known. */
export function authorizationUrl(
  { clientId, resource, audience, parameters }: OAuthProvider,
  endpoint: string,
  { state, nonce, verifier, redirectUri }: AuthorizationSecrets,
  scopes: readonly string[],
): string {
  const url = new URL(endpoint);
  const fields = {
    // Servers of OpenID give no refresh token without it.
    ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    ...parameters,
    ...{ response_type: 'code', client_id: clientId, redirect_uri: redirectUri || undefined },
    ...{ scope: scopes.join(' ') || undefined, state, resource, audience },
    code_challenge: sha256Digest(verifier),
    code_challenge_method: 'S256',
    nonce: scopes.includes('openid') ? nonce : undefined,
  };
  for (const [name, value] of Object.entries(defined(fields))) url.searchParams.set(name, value);
  return url.href;
}

/** Options of requests of `oauth4webapi`, which go through `src/net`. */
export type GuardedHttp = ReturnType<typeof guardedHttp>;

/** @param allow hosts that are no part of the public internet, or have no TLS. */
export function guardedHttp(allow: readonly string[] = []) {
  return {
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: async (
      url: string,
      { method, headers, body }: oauth.CustomFetchOptions<string, unknown>,
    ): Promise<Response> => {
      const request = { method, headers, ...(body ? { body: String(body) } : {}) };
      const answer = await guardedFetch(url, request, { allow, timeout: TIMEOUT, maxBytes: MOST_BYTES });
      if (answer.cut) throw oauthFailed('invalid', `its answer has more than ${MOST_BYTES} bytes`);
      const { status, headers: told } = answer;
      const isBodyless = status === 204 || status === 304;
      return new Response(isBodyless ? null : new Uint8Array(answer.body), { status, headers: told });
    },
  };
}

/** Metadata of an issuer: OpenID's place first, then that of RFC 8414. */
export async function serverMetadata(issuer: URL, http: GuardedHttp): Promise<oauth.AuthorizationServer> {
  let answer = await oauth.discoveryRequest(issuer, { ...http, algorithm: 'oidc' });
  if (answer.status === 404) answer = await oauth.discoveryRequest(issuer, { ...http, algorithm: 'oauth2' });
  return await oauth.processDiscoveryResponse(issuer, answer);
}

function tokensOf(answer: oauth.TokenEndpointResponse): TokenSet {
  const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken } = answer;
  const { sub: subject, email }: { sub?: string; email?: unknown } =
    oauth.getValidatedIdTokenClaims(answer) ?? {};
  const scopes = answer.scope?.split(/[ ,]+/).filter((scope) => scope !== '');
  const account = typeof email === 'string' && email !== '' ? email : subject;
  const { expires_in: seconds } = answer;
  const expiresIn = seconds && Math.min(seconds, LONGEST_TOKENS);
  return { accessToken, ...defined({ refreshToken, idToken, expiresIn, scopes, account, subject }) };
}

function privateKeyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw oauthFailed('misconfigured', 'the private key is no PKCS #8 in PEM');
  }
}

/** The fields of an answer that is no failure. */
async function jsonOf(answer: Response): Promise<Record<string, unknown> | undefined> {
  const given = answer.ok ? parsedJson(await answer.clone().text()) : undefined;
  return isRecord(given) ? given : undefined;
}

/** An answer with other fields; a failure stays as it is. */
async function changed(
  answer: Response,
  change: (given: Record<string, unknown>) => object,
): Promise<Response> {
  const given = await jsonOf(answer);
  return given === undefined ? answer : Response.json(change(given), { status: answer.status });
}

function lacks(needed: Endpoint): OAuthFailed {
  const option = needed === 'registration_endpoint' ? 'a clientId that you have registered there' : 'it';
  return oauthFailed(
    'misconfigured',
    `its metadata has no ${needed} of https: give ${option} in the provider's options`,
  );
}

/** Without metadata the address where people consent says whose answers are its own. */
function issuerOf(callback: URLSearchParams, server: oauth.AuthorizationServer): string {
  const said = callback.get('iss') ?? server.issuer;
  const own = new URL(server.authorization_endpoint ?? server.issuer).origin;
  if (URL.parse(said)?.origin === own) return said;
  throw oauthFailed(
    'invalid',
    'the answer is of another issuer than the one that was asked; nothing is kept',
  );
}
