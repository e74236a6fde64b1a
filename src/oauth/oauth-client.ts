import { createHash, createPrivateKey, type KeyObject, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { defined, isRecord, parsedJson } from '../protocol/json.ts';
import { failed, type TokenSet, tokensOf } from './oauth-answers.ts';
import { OAuthFailed, oauthFailed } from './oauth-failed.ts';
import type { OAuthProvider } from './oauth-provider.ts';
import { type GuardedHttp, guardedHttp, serverMetadata } from './oauth2-discovery.ts';

/** Seconds by which the clocks of server and gateway may differ. */
const CLOCK_TOLERANCE = 60;

const PROOFS = ['none', 'client_secret_basic', 'client_secret_post'] as const;

/** The client of a registration (RFC 7591). */
export interface RegisteredClient {
  clientId: string;
  clientSecret?: string;
  clientAuthentication?: OAuthProvider['clientAuthentication'];
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

/** A code that a person enters at another device. */
export interface DeviceCode {
  deviceCode: string;
  userCode: string;
  verificationUri: string;
  /** The same with the code in it. */
  verificationUriComplete?: string;
  /** Seconds. */
  expiresIn: number;
  /** Seconds between two questions, at least. */
  interval: number;
}

/** Speaks to one authorization server for one client. Each method throws {@link OAuthFailed}. */
export class OAuthClient {
  readonly #provider: OAuthProvider;
  readonly #http: GuardedHttp;
  #found: Promise<oauth.AuthorizationServer> | undefined;

  constructor(provider: OAuthProvider) {
    this.#provider = provider;
    this.#http = guardedHttp(provider.allow);
  }

  /** Where a person consents. */
  async authorizationUrl(flow: AuthorizationSecrets, scopes: readonly string[]): Promise<string> {
    return await this.#told(async ({ authorization_endpoint: endpoint }) => {
      if (endpoint === undefined) throw lacks('authorization_endpoint');
      return authorizationUrl(this.#provider, endpoint, flow, scopes);
    });
  }

  /** Tokens for the code by which a person came back. @param callback the fields of the way back. */
  async exchange(callback: URLSearchParams, flow: AuthorizationSecrets): Promise<TokenSet> {
    const { issuer, resource } = this.#provider;
    const said = callback.get('iss');
    return await this.#tokens(
      async (server, client, proof) => {
        if (flow.redirectUri === '')
          throw oauthFailed('invalid', 'redirectUri, the address of the way back, is needed');
        if (said !== null && issuer === undefined) assertOfServer(said, server);
        const asked = issuer === undefined ? { issuer: said ?? server.issuer } : server;
        const checked = oauth.validateAuthResponse(asked, client, callback, flow.state);
        const { redirectUri, verifier } = flow;
        const more = { ...this.#http, additionalParameters: fields({ resource }) };
        return await oauth.authorizationCodeGrantRequest(
          server,
          client,
          proof,
          checked,
          redirectUri,
          verifier,
          more,
        );
      },
      async (server, client, answer) => {
        const expectedNonce = (await idTokenOf(answer)) === undefined ? oauth.expectNoNonce : flow.nonce;
        return await oauth.processAuthorizationCodeResponse(server, client, answer, { expectedNonce });
      },
    );
  }

  /** New tokens for a refresh token, which strict servers take once. */
  async refresh(refreshToken: string): Promise<TokenSet> {
    const more = { ...this.#http, additionalParameters: fields({ resource: this.#provider.resource }) };
    return await this.#tokens(
      (server, client, proof) => oauth.refreshTokenGrantRequest(server, client, proof, refreshToken, more),
      oauth.processRefreshTokenResponse,
    );
  }

  /** Tokens of the app itself: client credentials, or a service account. */
  async ownTokens(scopes: readonly string[]): Promise<TokenSet> {
    if (this.#provider.grant === 'jwt_bearer') return await this.#ofAssertion(scopes.join(' ') || undefined);
    return await this.#tokens(
      (server, client, proof) =>
        oauth.clientCredentialsGrantRequest(server, client, proof, this.#wanted(scopes), this.#http),
      oauth.processClientCredentialsResponse,
    );
  }

  /** Begins the flow of another device. */
  async deviceCode(scopes: readonly string[]): Promise<DeviceCode> {
    return await this.#told(async (server, client, proof) => {
      const answer = await oauth.deviceAuthorizationRequest(
        server,
        client,
        proof,
        this.#wanted(scopes),
        this.#http,
      );
      const code = await oauth.processDeviceAuthorizationResponse(server, client, answer);
      const { verification_uri: verificationUri, verification_uri_complete: verificationUriComplete } = code;
      for (const address of [verificationUri, verificationUriComplete ?? verificationUri]) {
        if (!/^https?:\/\//.test(address))
          throw oauthFailed('invalid', 'the address where people enter the code is none of https');
      }
      return {
        ...{ deviceCode: code.device_code, userCode: code.user_code, verificationUri },
        ...defined({ verificationUriComplete }),
        ...{ expiresIn: code.expires_in, interval: Math.max(code.interval ?? 5, 1) },
      };
    });
  }

  /** Tokens for a device code; undefined while the person hasn't consented. */
  async deviceTokens(deviceCode: string): Promise<TokenSet | undefined> {
    try {
      return await this.#tokens(
        (server, client, proof) =>
          oauth.deviceCodeGrantRequest(server, client, proof, deviceCode, this.#http),
        oauth.processDeviceCodeResponse,
      );
    } catch (error) {
      if (error instanceof OAuthFailed && error.problem === 'pending') return undefined;
      throw error;
    }
  }

  /** @returns false where the server has no way to give tokens up. */
  async revoke(token: string): Promise<boolean> {
    return await this.#told(async (server, client, proof) => {
      if (server.revocation_endpoint === undefined) return false;
      await oauth.processRevocationResponse(
        await oauth.revocationRequest(server, client, proof, token, this.#http),
      );
      return true;
    });
  }

  /** Registers a client of this app. */
  async register(name: string, redirectUri: string): Promise<RegisteredClient> {
    return await this.#told(async (server) => {
      if (server.registration_endpoint === undefined)
        throw oauthFailed(
          'misconfigured',
          'it registers no clients by itself: register one there, and give its clientId',
        );
      const { token_endpoint_auth_methods_supported: methods = ['none'] } = server;
      const wanted = {
        ...{
          client_name: name,
          redirect_uris: [redirectUri],
          response_types: ['code'],
          application_type: 'web',
        },
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: methods.includes('none') ? 'none' : methods[0],
      };
      const answer = await oauth.dynamicClientRegistrationRequest(server, wanted, this.#http);
      const given = parsedJson(await answer.clone().text());
      // RFC 7591 has it required, and many servers leave it out.
      const whole = { client_secret_expires_at: 0, ...Object(given) };
      const client = await oauth.processDynamicClientRegistrationResponse(
        isRecord(given) ? Response.json(whole, { status: answer.status }) : answer,
      );
      const { client_id: clientId, client_secret: clientSecret, token_endpoint_auth_method: method } = client;
      const clientAuthentication = PROOFS.find((each) => each === method);
      return {
        ...{ clientId, registeredFor: redirectUri },
        ...defined({ clientSecret: clientSecret as string | undefined, clientAuthentication }),
      };
    });
  }

  async #ofAssertion(scope: string | undefined): Promise<TokenSet> {
    const { clientId = '', privateKey = '', audience } = this.#provider;
    const key = privateKeyOf(privateKey);
    const alg =
      key.asymmetricKeyType === 'rsa' ? 'RS256' : key.asymmetricKeyType === 'ec' ? 'ES256' : 'EdDSA';
    return await this.#tokens(async (server, client) => {
      const assertion = await new SignJWT(fields({ scope, target_audience: audience }))
        .setProtectedHeader({ alg, typ: 'JWT' })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(server.token_endpoint ?? '')
        .setIssuedAt()
        .setExpirationTime('5 minutes')
        .setJti(randomUUID())
        .sign(key);
      const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
      const sent = fields({ assertion, scope });
      const answer = await oauth.genericTokenEndpointRequest(
        server,
        client,
        oauth.None(),
        grant,
        sent,
        this.#http,
      );
      // Google answers with an ID token alone where one was asked for.
      const idToken = audience === undefined ? undefined : await idTokenOf(answer);
      if (idToken === undefined) return answer;
      return Response.json({ access_token: idToken, token_type: 'bearer', expires_in: 3_600 });
    }, oauth.processGenericTokenEndpointResponse);
  }

  #wanted(scopes: readonly string[]): Record<string, string> {
    const { resource, audience } = this.#provider;
    return fields({ scope: scopes.join(' ') || undefined, resource, audience });
  }

  #client(): oauth.Client {
    return { client_id: this.#provider.clientId ?? '', [oauth.clockTolerance]: CLOCK_TOLERANCE };
  }

  #authentication({
    token_endpoint_auth_methods_supported: methods,
  }: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret, clientAuthentication: chosen } = this.#provider;
    if (clientSecret === undefined || chosen === 'none') return oauth.None();
    const isPost = chosen === undefined && methods?.includes('client_secret_basic') === false;
    return chosen === 'client_secret_post' || isPost
      ? oauth.ClientSecretPost(clientSecret)
      : oauth.ClientSecretBasic(clientSecret);
  }

  async #server(): Promise<oauth.AuthorizationServer> {
    this.#found ??= this.#discovered();
    return await this.#found;
  }

  /** Given endpoints go before those of the metadata. */
  async #discovered(): Promise<oauth.AuthorizationServer> {
    const provider = this.#provider;
    const { issuer, authorizationEndpoint, tokenEndpoint } = provider;
    const given = defined({
      authorization_endpoint: authorizationEndpoint,
      token_endpoint: tokenEndpoint,
      device_authorization_endpoint: provider.deviceAuthorizationEndpoint,
      revocation_endpoint: provider.revocationEndpoint,
    });
    const isWhole =
      tokenEndpoint !== undefined &&
      (authorizationEndpoint !== undefined || provider.grant !== 'authorization_code');
    if (issuer === undefined)
      return { issuer: new URL(authorizationEndpoint ?? tokenEndpoint ?? '').origin, ...given };
    if (isWhole) return { issuer, ...given };
    const found = await serverMetadata(new URL(issuer), this.#http);
    const server = { ...found, ...given };
    if (server.token_endpoint === undefined) throw lacks('token_endpoint');
    const challenges = found.code_challenge_methods_supported;
    // A server that says it knows plain challenges only would take a code from anybody who has read the request.
    if (challenges !== undefined && !challenges.includes('S256'))
      throw oauthFailed('misconfigured', 'its metadata has no S256 among the methods of PKCE');
    return server;
  }

  /** Asks for tokens, and reads them. */
  async #tokens(
    send: (...to: To) => Promise<Response>,
    read: (server: To[0], client: To[1], answer: Response) => Promise<oauth.TokenEndpointResponse>,
  ): Promise<TokenSet> {
    return await this.#told(async (server, client, proof) => {
      const answer = await send(server, client, proof);
      // An ID token tells nothing where nobody has said who may issue it.
      const isUnproven = this.#provider.issuer === undefined && (await idTokenOf(answer)) !== undefined;
      return tokensOf(await read(server, client, isUnproven ? await withoutIdToken(answer) : answer));
    });
  }

  async #told<T>(work: (...to: To) => Promise<T>): Promise<T> {
    try {
      const server = await this.#server();
      return await work(server, this.#client(), this.#authentication(server));
    } catch (error) {
      throw failed(error, this.#provider);
    }
  }
}

/** Where a person consents, of a server whose endpoint is known. */
export function authorizationUrl(
  { clientId, resource, audience, parameters }: OAuthProvider,
  endpoint: string,
  flow: AuthorizationSecrets,
  scopes: readonly string[],
): string {
  const url = new URL(endpoint);
  const fields = {
    // Servers of OpenID give no refresh token without it.
    ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    ...parameters,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: flow.redirectUri || undefined,
    scope: scopes.join(' ') || undefined,
    state: flow.state,
    code_challenge: createHash('sha256').update(flow.verifier).digest('base64url'),
    code_challenge_method: 'S256',
    nonce: scopes.includes('openid') ? flow.nonce : undefined,
    ...{ resource, audience },
  };
  for (const [name, value] of Object.entries(defined(fields))) url.searchParams.set(name, value);
  return url.href;
}

/** A server, the client there, and its proof. */
type To = [server: oauth.AuthorizationServer, client: oauth.Client, proof: oauth.ClientAuth];

function privateKeyOf(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw oauthFailed('misconfigured', 'the private key is no PKCS #8 in PEM');
  }
}

function fields(given: Record<string, string | undefined>): Record<string, string> {
  return defined(given) as Record<string, string>;
}

async function idTokenOf(answer: Response): Promise<unknown> {
  const given = answer.ok ? parsedJson(await answer.clone().text()) : undefined;
  return isRecord(given) ? given.id_token : undefined;
}

async function withoutIdToken(answer: Response): Promise<Response> {
  const { id_token: _unproven, ...known } = (await answer.json()) as Record<string, unknown>;
  return Response.json(known);
}

function lacks(what: string): OAuthFailed {
  return oauthFailed('misconfigured', `its metadata has no ${what}: give it in the provider's options`);
}

/** Without metadata the address where people consent says whose answers are its own. */
function assertOfServer(issuer: string, server: oauth.AuthorizationServer): void {
  const own = new URL(server.authorization_endpoint ?? server.issuer).origin;
  if (URL.parse(issuer)?.origin === own) return;
  throw oauthFailed(
    'invalid',
    'the answer is of another issuer than the one that was asked; nothing is kept',
  );
}
