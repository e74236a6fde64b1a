import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { safeUrlOf } from '../../net/public-url.ts';
import { isRecord } from '../../protocol/json.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { IssuerUnreachable } from './issuer-unreachable.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** How long an issuer may take to answer, milliseconds. */
const TIMEOUT = 5_000;
/** For how long an issuer that has failed is not asked again, milliseconds: anybody may send tokens that name it. */
const REST = 5_000;
/** How often a key that isn't there is asked for again, milliseconds. */
const COOLDOWN = 30_000;
/** How long keys are trusted, milliseconds: a withdrawn key is good no longer. */
const KEYS_CACHE_TIME = 10 * 60_000;
/** How long it is believed where they are, milliseconds. */
const KEYS_URL_CACHE_TIME = 60 * 60_000;
const MOST_BYTES = 1_048_576;

/** Keys of an issuer: given, or asked for when a token needs them. */
export class IssuerKeys {
  readonly #issuer: TrustedIssuer;
  #found: { at: number; keys: Promise<JWTVerifyGetKey> } | undefined;
  #failed: { at: number; error: IssuerUnreachable } | undefined;

  constructor(issuer: TrustedIssuer) {
    this.#issuer = issuer;
  }

  /** @throws IssuerUnreachable, here and in what it gives. */
  async get(): Promise<JWTVerifyGetKey> {
    const now = performance.now();
    if (this.#found === undefined || now - this.#found.at > KEYS_URL_CACHE_TIME) {
      this.#found = { at: now, keys: this.#find() };
    }
    const found = this.#found;
    try {
      return await found.keys;
    } catch (error) {
      if (this.#found === found) this.#found = undefined;
      throw error;
    }
  }

  async #find(): Promise<JWTVerifyGetKey> {
    const { jwks, jwksUri } = this.#issuer;
    if (jwks !== undefined) return createLocalJWKSet(jwks);
    return createRemoteJWKSet(new URL(jwksUri ?? (await this.#discover())), {
      timeoutDuration: TIMEOUT,
      cooldownDuration: COOLDOWN,
      cacheMaxAge: KEYS_CACHE_TIME,
      [customFetch]: async (url) => await this.#ask(url),
    });
  }

  async #discover(): Promise<string> {
    const { issuer } = this.#issuer;
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const answer = await this.#ask(url);
    const said: unknown = await answer.json();
    if (!isRecord(said) || said.issuer !== issuer) {
      throw this.#failure(`${url} is of another issuer`);
    }
    const keys = safeUrlOf(said.jwks_uri);
    if (keys === undefined) throw this.#failure(`${url} has no jwks_uri of https`);
    return keys.href;
  }

  /** An answer that is whole, and of JSON. */
  async #ask(url: string): Promise<Response> {
    const rests = this.#failed !== undefined && performance.now() - this.#failed.at < REST;
    if (rests) throw this.#failed?.error;
    try {
      const answer = await fetch(url, {
        headers: { accept: 'application/json' },
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT),
      });
      if (answer.status !== 200) throw new Error(`it answers ${answer.status}`);
      const text = await shortText(answer);
      JSON.parse(text);
      return new Response(text, { headers: { 'content-type': 'application/json' } });
    } catch (error) {
      throw this.#failure(`${url}: ${messageOf(error)}`, error);
    }
  }

  #failure(problem: string, cause?: unknown): IssuerUnreachable {
    const error = new IssuerUnreachable(this.#issuer.issuer, problem, { cause });
    this.#failed = { at: performance.now(), error };
    return error;
  }
}

async function shortText(answer: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MOST_BYTES) throw new Error(`the answer has more than ${MOST_BYTES} bytes`);
  }
  return text + decoder.decode();
}
