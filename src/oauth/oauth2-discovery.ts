import * as oauth from 'oauth4webapi';
import { guardedFetch } from '../net/guarded-fetch.ts';
import { defined } from '../protocol/json.ts';
import { oauthFailed } from './oauth-failed.ts';

/** Milliseconds that one request may take. */
const TIMEOUT = 10_000;
const MOST_BYTES = 256 * 1024;

/** Options of requests of `oauth4webapi`, which go through `src/net`. */
export type GuardedHttp = ReturnType<typeof guardedHttp>;

/** @param allow hosts that are no part of the public internet, or have no TLS. */
export function guardedHttp(allow: readonly string[] = []) {
  return {
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: async (
      url: string,
      init: oauth.CustomFetchOptions<string, unknown>,
    ): Promise<Response> => {
      const { method, headers, body } = init;
      const text = body === undefined || body === null ? undefined : String(body);
      const request = { method, headers, ...defined({ body: text }) };
      const answer = await guardedFetch(url, request, { allow, timeout: TIMEOUT, maxBytes: MOST_BYTES });
      if (answer.cut) throw oauthFailed('invalid', `its answer has more than ${MOST_BYTES} bytes`);
      const isBodyless = answer.status === 204 || answer.status === 304;
      const content = isBodyless ? null : new Uint8Array(answer.body);
      return new Response(content, { status: answer.status, headers: answer.headers });
    },
  };
}

/** Metadata of an issuer: OpenID's place first, then that of RFC 8414. */
export async function serverMetadata(issuer: URL, http: GuardedHttp): Promise<oauth.AuthorizationServer> {
  const places = ['oidc', 'oauth2'] as const;
  for (const algorithm of places) {
    const answer = await oauth.discoveryRequest(issuer, { ...http, algorithm });
    if (answer.status === 404 && algorithm !== places.at(-1)) continue;
    return await oauth.processDiscoveryResponse(issuer, answer);
  }
  throw oauthFailed('misconfigured', "it has no metadata: give its endpoints in the provider's options");
}

/** Semantics: `OAuth2DiscoveryManager` of `@google/adk` 2.0.0. */
export class OAuth2DiscoveryManager {
  readonly #http: GuardedHttp;

  /** @param options.allow hosts that are no part of the public internet, or have no TLS. Defaults to none. */
  constructor({ allow }: { allow?: readonly string[] } = {}) {
    this.#http = guardedHttp(allow);
  }

  async discoverAuthServerMetadata(issuerUrl: string): Promise<oauth.AuthorizationServer | undefined> {
    return await orNone(() => serverMetadata(new URL(issuerUrl), this.#http));
  }

  async discoverResourceMetadata(resourceUrl: string): Promise<oauth.ResourceServer | undefined> {
    return await orNone(async () => {
      const url = new URL(resourceUrl);
      const answer = await oauth.resourceDiscoveryRequest(url, this.#http);
      return { authorization_servers: [], ...(await oauth.processResourceDiscoveryResponse(url, answer)) };
    });
  }
}

async function orNone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    // Answers and addresses that are wrong have codes.
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}
