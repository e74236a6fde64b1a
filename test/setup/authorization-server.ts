import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientMetadata, type Configuration, Provider } from 'oidc-provider';

/** The client of an app at the server. */
export const CLIENT = { clientId: 'shop', clientSecret: 'client-secret-7Qz1' };
export interface AuthorizationServer {
  issuer: string;
  provider: Provider;
  /** Bodies of requests to the token endpoint: `grant_type` of each. */
  grants: string[];
  /** Each secret that has been given out, or was sent: tokens, codes, verifiers. */
  secrets: Set<string>;
  close(): Promise<void>;
}

export interface AuthorizationServerOptions {
  /** Seconds for which access tokens are good. @default 3600 */
  accessTokens?: number;
  clients?: ClientMetadata[];
  /** Claims of accounts, for ID tokens. */
  people?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  configuration?: Configuration;
}

/** A real authorization server with PKCE, registration, device flow, rotation of refresh tokens with detection of reuse, and revocation. */
export async function openAuthorizationServer(
  redirectUris: readonly string[],
  { accessTokens = 3_600, clients = [], people = {}, configuration = {} }: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const grants: string[] = [];
  const secrets = new Set<string>();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [...redirectUris],
        grant_types: [
          ...['authorization_code', 'refresh_token', 'client_credentials'],
          'urn:ietf:params:oauth:grant-type:device_code',
        ],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
      ...clients,
    ],
    features: {
      devInteractions: { enabled: true },
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined as never,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: 'calendar.read calendar.write',
          audience: resource,
          accessTokenTTL: accessTokens,
          accessTokenFormat: 'opaque',
        }),
      },
    },
    scopes: ['openid', 'offline_access', 'calendar.read', 'calendar.write'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    conformIdTokenClaims: false,
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...people[sub] }) }),
    ttl: {
      AccessToken: accessTokens,
      RefreshToken: 86_400,
      Grant: 86_400,
      Session: 86_400,
      Interaction: 3_600,
      IdToken: 3_600,
      DeviceCode: 600,
      ClientCredentials: accessTokens,
    },
    rotateRefreshToken: true,
    pkce: { required: () => true },
    cookies: { keys: ['of a test'] },
    jwks: undefined as never,
    ...configuration,
  });
  provider.use(async (context, next) => {
    await next();
    if (context.path !== '/token') return;
    const { params } = (context as { oidc?: { params?: Record<string, unknown> } }).oidc ?? {};
    grants.push(String(params?.grant_type));
    for (const name of ['code', 'code_verifier', 'refresh_token', 'device_code'])
      if (typeof params?.[name] === 'string') secrets.add(params[name]);
    const body = context.body as Record<string, unknown> | undefined;
    for (const name of ['access_token', 'refresh_token', 'id_token'])
      if (typeof body?.[name] === 'string') secrets.add(body[name]);
  });
  server.on('request', provider.callback());
  return {
    ...{ issuer, provider, grants, secrets },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** A browser without a window: it keeps cookies of both sites, and follows forms of the server’s own pages. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();
  readonly #ask: typeof fetch;

  /** @param ask answers requests in place of the network. */
  constructor(ask: typeof fetch = fetch) {
    this.#ask = ask;
  }

  async get(url: string, init: RequestInit = {}): Promise<Response> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map();
    this.#cookies.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(init.headers as object), ...(cookie === '' ? {} : { cookie }) };
    const answer = await this.#ask(url, { redirect: 'manual', ...init, headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  }

  /** Follows redirects until a page, or until an address of this beginning, which is not opened. */
  async follow(url: string, stopAt?: string): Promise<{ url: string; answer?: Response }> {
    let next = url;
    for (let hops = 0; hops < 20; hops += 1) {
      if (stopAt !== undefined && next.startsWith(stopAt)) return { url: next };
      const answer = await this.get(next);
      const location = answer.headers.get('location');
      if (location === null) return { url: next, answer };
      next = new URL(location, next).href;
    }
    throw new Error('too many redirects');
  }

  /** Signs in at the server’s page for other devices, enters a code, and consents. */
  async enterCode(issuer: string, code: string): Promise<void> {
    let at = await this.follow(`${issuer}/device?user_code=${code}`);
    for (let pages = 0; pages < 6; pages += 1) {
      const page = (await at.answer?.text()) ?? '';
      const action = /action="([^"]+)"/.exec(page)?.[1];
      if (action === undefined) return;
      const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, value],
      );
      const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
      const body = new URLSearchParams({
        ...Object.fromEntries(hidden),
        ...(page.includes('name="confirm"') ? { confirm: 'yes' } : {}),
        ...(prompt === 'login' ? { login: 'ada@example.com', password: 'x' } : {}),
      });
      const answer = await this.get(new URL(action, at.url).href, { method: 'POST', body });
      const location = answer.headers.get('location');
      at = location === null ? { url: at.url, answer } : await this.follow(new URL(location, at.url).href);
    }
  }

  /** Signs in at the server and says yes, or no; gives the address of the way back without opening it. */
  async consent(
    url: string,
    stopAt: string,
    { account = 'ada@example.com', says = 'yes' } = {},
  ): Promise<string> {
    let at = await this.follow(url, stopAt);
    while (at.answer !== undefined) {
      const page = await at.answer.text();
      if (at.answer.status >= 400)
        throw new Error(`the server says: ${page.replace(/<[^>]*>/g, ' ').slice(0, 500)}`);
      const abort = /href="([^"]*\/abort)"/.exec(page)?.[1];
      if (says === 'no' && abort !== undefined) {
        at = await this.follow(new URL(abort, at.url).href, stopAt);
        continue;
      }
      const action = /action="([^"]+)"/.exec(page)?.[1];
      const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
      if (action === undefined || prompt === undefined)
        throw new Error(`no form on the page: ${page.slice(0, 300)}`);
      const form = new URLSearchParams({
        prompt,
        ...(prompt === 'login' ? { login: account, password: 'x' } : {}),
      });
      const answer = await this.get(new URL(action, at.url).href, { method: 'POST', body: form });
      at = await this.follow(new URL(answer.headers.get('location') ?? '', at.url).href, stopAt);
    }
    return at.url;
  }
}
