import { setTimeout } from 'node:timers/promises';
import type { ByteSource } from '../artifacts/artifact-bytes.ts';
import { isObject, take } from '../contract/check.ts';
import { checkOf, type Operation, pathPartProblem, placesOf, requestOf } from '../contract/operation.ts';
import { GatewayUnreachable, InvalidTurn } from './client-errors.ts';
import { errorOf, toldError } from './gateway-failure.ts';

export interface GatewayConnectionOptions {
  /** Where the gateway is, with or without a slash at its end. */
  url: string;
  /** Sent as `Authorization: Bearer <token>`; never to another host. */
  token: string;
  /** Defaults to the global one. */
  fetch?: typeof fetch;
  /**
   * How long results and events are waited for while the gateway can't be reached, milliseconds; it may be restarting.
   *
   * @default 300_000
   */
  patience?: number;
}

export interface GatewayRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as they come, in place of a body. */
  bytes?: ByteSource;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
}

export type Input = Readonly<Record<string, unknown>>;
type Way = Pick<GatewayRequest, 'headers' | 'signal'>;

/** Answers of a gateway, or of what stands before it, that say to come again. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** How often a message is sent while its gateway can't be reached: one message id is one turn. */
const MOST_SENDS = 4;

/** A token of characters that a header may have. */
export const SENDABLE = /^[\x21-\x7e]*$/;

/** Speaks HTTP to one gateway. */
export class GatewayConnection {
  readonly url: string;
  readonly #token: string;
  readonly #fetch: typeof fetch;
  readonly #patience: number;

  /** @throws TypeError for a url that is none, and for a token that no header can hold. */
  constructor({ url, token, fetch: given = fetch, patience = 300_000 }: GatewayConnectionOptions) {
    const { protocol, username, password } = URL.parse(url) ?? {};
    if (!/^https?:$/.test(protocol ?? '')) {
      throw new TypeError('GatewayClient: url: expected an http or https URL, as http://127.0.0.1:8471');
    }
    if (username !== '' || password !== '') {
      // `fetch` takes no such URL, and would quote it in what it throws.
      throw new TypeError('GatewayClient: url: expected a URL without user name and password: use `token`');
    }
    if (!SENDABLE.test(token.trim())) {
      // `fetch` would quote it in what it throws.
      throw new TypeError(
        'GatewayClient: token: expected ASCII characters without spaces and line breaks in between',
      );
    }
    this.url = url.replace(/(?<!\/)\/+$/, '');
    this.#token = token.trim();
    this.#fetch = given;
    this.#patience = patience;
  }

  backoff(): Backoff {
    return new Backoff(this.#patience);
  }

  /**
   * The answer, with any status.
   *
   * @throws GatewayUnreachable; the signal's reason.
   */
  async send(
    path: string,
    { method = 'GET', body, bytes, headers, signal }: GatewayRequest = {},
  ): Promise<Response> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    try {
      return await this.#fetch(this.url + path, {
        method,
        redirect: 'error',
        headers: {
          authorization: `Bearer ${this.#token}`,
          accept: 'application/json',
          ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sent === undefined ? {} : { body: sent }),
        ...(bytes === undefined ? {} : { body: bodyOf(bytes), duplex: 'half' }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw this.unreachable(error);
    }
  }

  /**
   * An answer's JSON.
   *
   * @throws the error that the answer tells of, in its class; GatewayUnreachable where the answer is no gateway's.
   */
  async ask<T>(path: string, request: GatewayRequest = {}): Promise<T> {
    const answer = await this.send(path, request);
    return (await this.read(answer, request.signal)) as T;
  }

  /** As {@link ask}, of what is safe to send again: it is while the gateway can't be reached, a few times. */
  async askWithRetry<T>(path: string, request: GatewayRequest): Promise<T> {
    const backoff = this.backoff();
    for (let sent = 1; ; sent++) {
      try {
        return await this.ask<T>(path, request);
      } catch (error) {
        if (!(error instanceof GatewayUnreachable) || sent === MOST_SENDS) throw error;
        await backoff.wait(request.signal);
      }
    }
  }

  /** The gateway's answer to an operation; one that is safe to send again is, a few times. @throws as {@link ask}. */
  async call<T>(operation: Operation, input: Input, way: Way = {}): Promise<T> {
    const [path, request] = requestFor(operation, input, way);
    const asked = operation.repeats ? this.askWithRetry(path, request) : this.ask(path, request);
    return this.checked<T>(operation, await asked);
  }

  /** A proxy's `{}` is no answer. Fields that this release doesn't know are kept. */
  checked<T>({ name, output, unfinished }: Operation, answer: unknown): T {
    const isFinished = unfinished === undefined || (isObject(answer) && unfinished.without in answer);
    const { problem } = take(checkOf(isFinished ? output : unfinished.output), answer);
    if (problem === undefined) return answer as T;
    const where = problem.field === '' ? '' : `${problem.field}: `;
    throw this.unreachable(undefined, `has answered ${name} as no gateway does: ${where}${problem.problem}`);
  }

  /** @throws as {@link ask}. */
  async read(answer: Response, signal?: AbortSignal): Promise<unknown> {
    let body: unknown;
    try {
      body = await answer.json();
    } catch (error) {
      signal?.throwIfAborted();
      // A body that breaks off, or a page of something else.
      throw this.unreachable(error, `has answered ${answer.status} without JSON`);
    }
    // Every answer of a gateway is an object.
    const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
    if (answer.ok && isObject) return body;
    const told = isObject ? toldError((body as { error?: unknown }).error) : undefined;
    if (told === undefined)
      throw this.unreachable(undefined, `has answered ${answer.status}, and no gateway does so`);
    throw await errorOf(told, answer.status);
  }

  /** The error that an answer tells of, in its class. */
  async failure(answer: Response, signal?: AbortSignal): Promise<unknown> {
    try {
      return await this.read(answer, signal);
    } catch (error) {
      return error;
    }
  }

  unreachable(cause: unknown, reason?: string): GatewayUnreachable {
    const why = cause instanceof Error ? (codeOf(cause) ?? cause.message) : String(cause);
    return new GatewayUnreachable(this.url, reason ?? `can't be reached: ${why}`, { cause });
  }
}

function bodyOf(bytes: ByteSource): ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> {
  if (bytes instanceof ReadableStream) return bytes;
  return bytes instanceof Uint8Array ? new Uint8Array(bytes) : ReadableStream.from(bytes);
}

/** Path and rest of what asks for an operation. @throws InvalidTurn for names that no path can have. */
export function requestFor(operation: Operation, input: Input, way: Way = {}): [string, GatewayRequest] {
  for (const { in: place, field, check } of placesOf(operation)) {
    const value = input[field.join('.')];
    const isPart = place === 'path' || check['x-path-part'] === true;
    const problem = isPart && typeof value === 'string' ? pathPartProblem(value) : undefined;
    if (problem !== undefined) throw new InvalidTurn(`${operation.name}: ${field}: ${problem}`);
  }
  const { path, headers, ...request } = requestOf(operation, input);
  return [path, { ...request, ...way, headers: { ...headers, ...way.headers } }];
}

/** Whether the same request may get another answer later. */
export function isPassing({ status }: Response): boolean {
  return PASSING.has(status);
}

/** Milliseconds that an answer asks to wait. */
export function retryAfter(answer: Response): number {
  const seconds = Number(answer.headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) ? Math.min(60, Math.max(0, seconds)) * 1_000 : 0;
}

/** `ECONNREFUSED`, which `fetch` hides in "fetch failed". */
function codeOf({ cause }: Error): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

const FIRST = 100;
const LONGEST = 5_000;

/** Waits between tries of the same thing: longer each time, and not in step with others who wait for the same. */
class Backoff {
  /** How long it may go on without a success, milliseconds. */
  readonly #patience: number;
  #next = FIRST;
  #since: number | undefined;

  constructor(patience: number) {
    this.#patience = patience;
  }

  /** It has worked: the next failure is a first one. */
  reset(): void {
    this.#next = FIRST;
    this.#since = undefined;
  }

  /** Whether it has failed for too long. */
  isSpent(): boolean {
    this.#since ??= Date.now();
    return Date.now() - this.#since >= this.#patience;
  }

  /**
   * @param atLeast milliseconds, as who is waited for has asked; no longer than the patience lasts.
   * @throws AbortError on the signal.
   */
  async wait(signal: AbortSignal | undefined, atLeast = 0): Promise<void> {
    const left = this.#patience - (this.#since === undefined ? 0 : Date.now() - this.#since);
    const time = Math.max(Math.min(atLeast, left), this.#next * (0.5 + Math.random() / 2));
    this.#next = Math.min(LONGEST, this.#next * 2);
    await setTimeout(time, undefined, { signal });
  }
}
