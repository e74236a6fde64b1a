import { lookup as resolveName } from 'node:dns/promises';
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http';
import { Agent, type RequestOptions, request as tlsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { HoldfastError, hasCode } from '../contract/error.ts';
import { checkAddresses, checkedUrl, type Destination } from './public-address.ts';

const DEFAULT_TIMEOUT = 10_000;
const DEFAULT_MOST_BYTES = 64 * 1024;
const MOST_HOPS = 3;
/** They keep method and body. */
const SAME_REQUEST = new Set([307, 308]);
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface GuardedRequest {
  /** @default 'GET' */
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
}

export interface GuardedOptions {
  /**
   * Hosts that may be asked without TLS and wherever they are: `name` (at the usual ports) or `name:port`.
   *
   * @default none
   */
  allow?: readonly string[];
  /**
   * Milliseconds that all of it may take.
   *
   * @default 10_000
   */
  timeout?: number;
  /**
   * Bytes of the answer that are read.
   *
   * @default 64 KiB
   */
  maxBytes?: number;
  /**
   * Whether a redirect of a GET or HEAD may lead to another host of the public internet, whatever `allow` has. Headers of the request
   * don't go there, but `accept`.
   *
   * @default false
   */
  leavesHost?: boolean;
  /** All addresses of a name. Defaults to the system's. */
  resolve?: (host: string) => Promise<readonly string[]>;
}

export interface GuardedAnswer {
  status: number;
  /** Names in lower case; the first of several headers of one name. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** The body was longer than the part that was read. */
  cut: boolean;
}

/** An answer whose body is read as it comes. A body that is not read is to be given up, by {@link GuardedStream.drop}. */
export interface GuardedStream extends Pick<GuardedAnswer, 'status' | 'headers'> {
  /** @throws HOLDFAST_FETCH_FAILED where it ends early, while it is read. */
  body: AsyncIterable<Buffer>;
  drop(): void;
}

/**
 * Asks a server of the public internet whose address somebody else has chosen: over TLS, at an address that was looked at before the
 * connection is made and is the one it is made to, through no proxy, and to no other host by a redirect.
 *
 * @throws HOLDFAST_ADDRESS_REFUSED, HOLDFAST_FETCH_FAILED
 */
export async function guardedFetch(
  url: string | URL,
  init: GuardedRequest = {},
  options: GuardedOptions = {},
): Promise<GuardedAnswer> {
  const { maxBytes = DEFAULT_MOST_BYTES } = options;
  const { status, headers, body, drop } = await guardedStream(url, init, options);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, maxBytes - size));
    size += chunk.length;
    if (size <= maxBytes) continue;
    drop();
    return { status, headers, body: Buffer.concat(chunks), cut: true };
  }
  return { status, headers, body: Buffer.concat(chunks), cut: false };
}

/**
 * {@link guardedFetch} without a limit of bytes: the caller has one.
 *
 * @throws HOLDFAST_ADDRESS_REFUSED, HOLDFAST_FETCH_FAILED; `details.sent` is false where no connection was made, so that nothing has run.
 */
export async function guardedStream(
  url: string | URL,
  init: GuardedRequest = {},
  options: GuardedOptions = {},
): Promise<GuardedStream> {
  const { timeout = DEFAULT_TIMEOUT } = options;
  const late = AbortSignal.timeout(timeout);
  const signal = init.signal === undefined ? late : AbortSignal.any([init.signal, late]);
  const { method = 'GET' } = init;
  const isSafe = method === 'GET' || method === 'HEAD';
  let destination = checkedUrl(url, options.allow);
  let request = init;
  for (let hop = 0; ; hop += 1) {
    const answer = await ask(destination, request, options, signal);
    const next = REDIRECTS.has(answer.status) ? answer.headers.location : undefined;
    if (next === undefined || (!isSafe && !SAME_REQUEST.has(answer.status))) return answer;
    answer.drop();
    if (hop === MOST_HOPS)
      throw new HoldfastError(
        'HOLDFAST_FETCH_FAILED',
        `${destination.host} redirects more than ${MOST_HOPS} times`,
      );
    const from = destination;
    destination = redirected(from, next, options, isSafe);
    if (destination.url.origin !== from.url.origin) request = withoutHeaders(request);
  }
}

function redirected(
  { url, host }: Destination,
  location: string,
  { allow, leavesHost = false }: GuardedOptions,
  isSafe: boolean,
): Destination {
  const next = URL.parse(location, url.href);
  if (next === null)
    throw new HoldfastError('HOLDFAST_FETCH_FAILED', `${host} redirects to an invalid address`);
  if (next.origin === url.origin) return checkedUrl(next, allow);
  if (!leavesHost || !isSafe)
    throw new HoldfastError('HOLDFAST_ADDRESS_REFUSED', `${host} redirects to another host`);
  if (next.hostname === url.hostname && next.port === '' && url.port === '') return checkedUrl(next, allow);
  try {
    // Hosts are allowed for requests of the app, which the one that redirects may not make.
    return checkedUrl(next);
  } catch (error) {
    if (!hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')) throw error;
    throw new HoldfastError(
      'HOLDFAST_ADDRESS_REFUSED',
      `${host} redirects to another host: ${error.message}`,
    );
  }
}

/** Any header of the app may be a credential. */
function withoutHeaders({ headers = {}, ...request }: GuardedRequest): GuardedRequest {
  const kept = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'accept');
  return { ...request, headers: Object.fromEntries(kept) };
}

async function ask(
  destination: Destination,
  init: GuardedRequest,
  { resolve = systemAddresses }: GuardedOptions,
  signal: AbortSignal,
): Promise<GuardedStream> {
  const { host, allowed } = destination;
  const sending = { isConnected: false };
  try {
    const addresses = isIP(host) === 0 ? await aborting(resolve(host), signal) : [host];
    checkAddresses(host, addresses, allowed);
    const response = await send(destination, addresses, init, signal, sending);
    return {
      status: response.statusCode ?? 0,
      headers: headersOf(response),
      body: read(response, host, signal),
      drop: () => void response.destroy(),
    };
  } catch (error) {
    if (hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')) throw error;
    const details = { sent: sending.isConnected };
    throw new HoldfastError('HOLDFAST_FETCH_FAILED', `${host}: ${reasonOf(error, signal)}`, { details });
  }
}

async function* read(response: IncomingMessage, host: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* response as AsyncIterable<Buffer>;
  } catch (error) {
    const details = { sent: true };
    throw new HoldfastError('HOLDFAST_FETCH_FAILED', `${host}: ${reasonOf(error, signal)}`, { details });
  }
}

function send(
  { url, host }: Destination,
  addresses: readonly string[],
  { method = 'GET', headers = {}, body }: GuardedRequest,
  signal: AbortSignal,
  sending: { isConnected: boolean },
): Promise<IncomingMessage> {
  const isTls = url.protocol === 'https:';
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...length, connection: 'close' },
    signal,
    lookup: pinned(addresses),
    // One of its own knows no proxy of the environment, and no connection that was made to another address.
    agent: isTls ? new Agent({ keepAlive: false }) : new PlainAgent({ keepAlive: false }),
    ...(isTls && isIP(host) === 0 ? { servername: host } : {}),
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = isTls ? tlsRequest(url.href, options) : plainRequest(url.href, options);
  // It may tell more than one error, and end without any: a server that answers 101 for one.
  request.on('error', reject).once('response', resolve);
  request.once('close', () => reject(new Error('closed without an answer')));
  request.once('socket', (socket) =>
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      sending.isConnected = true;
    }),
  );
  request.end(body);
  return promise;
}

/** The addresses that were looked at, and no others: between two looks a name may change its mind. */
function pinned(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    const fitting = known.filter(({ family }) => !options.family || Number(options.family) === family);
    const [first] = fitting;
    // Later, as the system's does: an address without a route fails at once, before the request listens for errors.
    process.nextTick(() => {
      if (first === undefined) callback(new Error('no address of this family'), '', 0);
      else if (options.all) callback(null, fitting);
      else callback(null, first.address, first.family);
    });
  };
}

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value[0] : value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as Record<string, string>;
}

async function systemAddresses(host: string): Promise<string[]> {
  return (await resolveName(host, { all: true })).map(({ address }) => address);
}

/** The work's outcome, or the signal's reason where work that can't be ended takes longer. */
export async function aborting<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Texts of errors may quote the address. */
function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) {
    return signal.reason instanceof DOMException && signal.reason.name === 'TimeoutError'
      ? 'no answer in time'
      : 'given up';
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'the connection failed';
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The header `Retry-After`: seconds, or a date.
 *
 * @param now milliseconds since the epoch.
 * @returns milliseconds; undefined where it says neither.
 */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  // Other texts are dates to the platform, too: `-7` is one of the year 2001.
  const date = HTTP_DATE.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
