import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider, { type AccessToken } from 'oidc-provider';

/** How a program proves itself to the server. */
export interface Client {
  id: string;
  secret: string;
}

export interface AuthorizationServerOptions {
  /** The app whose users consent. */
  app: Client;
  /** The service that asks whose a token is. */
  service: Client;
  /** Seconds for which access tokens are good. */
  tokenSeconds: number;
  /** Defaults to a free one. */
  port?: number;
  log?: (line: string) => void;
}

const DAY = 86_400;

/** An authorization server that knows nothing of agents, and believes whoever signs in: OAuth 2.1 and OpenID Connect, by oidc-provider. */
export class AuthorizationServer {
  readonly #options: AuthorizationServerOptions;
  readonly #server: Server = createServer();
  readonly #accessTokens = new Set<AccessToken>();

  constructor(options: AuthorizationServerOptions) {
    this.#options = options;
  }

  /** Serves on this machine. Returns its address, which is its issuer, too. */
  async open(): Promise<string> {
    await new Promise<void>((listening, failed) => {
      this.#server.once('error', failed);
      this.#server.listen(this.#options.port ?? 0, '127.0.0.1', listening);
    });
    const issuer = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    this.#server.on('request', this.#provider(issuer).callback());
    return issuer;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** Ends all access tokens before their time, and leaves the consent as it is. Returns how many. */
  async forget(): Promise<number> {
    const tokens = [...this.#accessTokens];
    this.#accessTokens.clear();
    await Promise.all(tokens.map((token) => token.destroy()));
    return tokens.length;
  }

  #provider(issuer: string): Provider {
    const { app, service, tokenSeconds, log } = this.#options;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const provider = quietly(
      () =>
        new Provider(issuer, {
          clients: [
            {
              client_id: app.id,
              client_secret: app.secret,
              // With any port: the gateway of an embedded server takes a free one.
              application_type: 'native',
              redirect_uris: ['http://127.0.0.1/oauth/callback', 'http://localhost/oauth/callback'],
              grant_types: ['authorization_code', 'refresh_token'],
            },
            {
              client_id: service.id,
              client_secret: service.secret,
              redirect_uris: [],
              response_types: [],
              grant_types: [],
            },
          ],
          scopes: ['openid', 'offline_access', 'calendar.read', 'calendar.write'],
          pkce: { required: () => true },
          rotateRefreshToken: true,
          findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
          ttl: {
            AccessToken: tokenSeconds,
            ...{ IdToken: tokenSeconds, RefreshToken: DAY, Grant: DAY, Session: DAY, Interaction: 3_600 },
          },
          features: {
            devInteractions: { enabled: true },
            introspection: {
              enabled: true,
              allowedPolicy: (_context, client) => client.clientId === service.id,
            },
            revocation: {
              enabled: true,
              allowedPolicy: (_context, client, token) => client.clientId === token.clientId,
            },
          },
          clientBasedCORS: () => false,
          cookies: { keys: [randomUUID()] },
          jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
        }),
    );
    provider.on('access_token.saved', (token) => this.#accessTokens.add(token));
    provider.on('grant.success', ({ oidc: { params, entities, account } }) => {
      const who = account?.accountId ?? entities.Account?.accountId;
      log?.(
        params?.grant_type === 'refresh_token'
          ? `tokens of ${who} are refreshed`
          : `${who} has consented to ${entities.AccessToken?.scope}`,
      );
    });
    provider.on('grant.revoked', () => log?.('tokens are given up: the consent has ended'));
    return provider;
  }
}

/** It warns that it keeps everything in memory, and believes whoever signs in, which is as it should be here. */
function quietly<Made>(make: () => Made): Made {
  const { warn } = console;
  console.warn = () => undefined;
  try {
    return make();
  } finally {
    console.warn = warn;
  }
}
