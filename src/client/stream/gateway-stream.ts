import type { Operation } from '../../contract/operation.ts';
import { FollowerTooSlow, GatewayUnreachable } from '../client-errors.ts';
import {
  type GatewayConnection,
  type Input,
  isPassing,
  requestFor,
  retryAfter,
} from '../gateway-connection.ts';
import { errorOf, toldError } from '../gateway-failure.ts';
import type { FollowOptions } from './follow-events.ts';
import type { FollowedEvent, StreamItem } from './stream-item.ts';
import { placeOf } from './stream-place.ts';

export interface GatewayStream extends FollowOptions {
  operation: Operation;
  /** The followed session, or turn. */
  input: Input;
  /** With what is never stored. */
  partial: boolean;
}

const LIVE: ReadonlySet<string> = new Set([
  'text',
  'text-dropped',
  'call',
  'tool-chunk',
  'tool-chunks-dropped',
  'job',
]);
const EVENT_STREAM = 'text/event-stream';
const TOO_SLOW = new FollowerTooSlow(0).code;

/** The end of a connection that has told no error. */
type Cut = { kind: 'ended' } | { kind: 'cut'; cause?: unknown; wait?: number };

/**
 * Items of a stream of the gateway, until its end or the signal. A connection that is cut is made again, after the last event
 * that was read: each event comes exactly once. Items that are never stored may be lost.
 *
 * @throws InvalidTurn
 * @throws what the stream tells, in its class; GatewayUnreachable where the gateway stays away.
 */
export function gatewayStream(
  connection: GatewayConnection,
  options: GatewayStream,
): AsyncGenerator<StreamItem, void, undefined> {
  // Throws at once for names that no path can have.
  requestFor(options.operation, options.input);
  return streamItems(connection, options);
}

async function* streamItems(
  connection: GatewayConnection,
  options: GatewayStream,
): AsyncGenerator<StreamItem, void, undefined> {
  const { signal } = options;
  const backoff = connection.backoff();
  let { after } = options;
  placeOf(after, 'stream');
  while (!signal?.aborted) {
    const reading = readOnce(connection, { ...options, after });
    let cut: Cut | undefined;
    try {
      for (let next = await reading.next(); ; next = await reading.next()) {
        if (next.done) {
          cut = next.value;
          break;
        }
        backoff.reset();
        if (next.value.type === 'event') after = next.value.place ?? next.value.seq;
        yield next.value;
        if (signal?.aborted) return;
      }
    } finally {
      await reading.return({ kind: 'ended' });
    }
    if (cut.kind === 'ended' || signal?.aborted) return;
    if (backoff.isSpent()) throw unreachable(connection, cut.cause);
    await backoff.wait(signal, cut.wait).catch(() => undefined);
  }
}

/** Of one connection. */
async function* readOnce(
  connection: GatewayConnection,
  { operation, input, partial, children, after, signal }: GatewayStream,
): AsyncGenerator<StreamItem, Cut, undefined> {
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const followed = { ...input, partial, ...(children === false ? { children } : {}), lastEventId: after };
  const way = { headers: { accept: EVENT_STREAM }, signal: either };
  try {
    let answer: Response;
    try {
      answer = await connection.send(...requestFor(operation, followed, way));
    } catch (cause) {
      return { kind: 'cut', cause };
    }
    if (isPassing(answer)) {
      return { kind: 'cut', cause: await failureOf(connection, answer), wait: retryAfter(answer) };
    }
    if (!answer.ok) {
      const failure = await failureOf(connection, answer);
      if (failure instanceof GatewayUnreachable) return { kind: 'cut', cause: failure };
      throw failure;
    }
    const sent = serverSentEvents((answer.body ?? new Blob([]).stream()) as AsyncIterable<Uint8Array>);
    for (;;) {
      let next: IteratorResult<ServerSentEvent>;
      try {
        next = await sent.next();
      } catch (cause) {
        return { kind: 'cut', cause };
      }
      if (next.done) return { kind: 'cut' };
      const { id, event, data } = next.value;
      if (event === 'end') return { kind: 'ended' };
      const content = contentOf(connection, data);
      if (event === 'error') throw await toldIn(content, after ?? 0);
      const item = itemOf(event, content, id);
      if (item?.type === 'event') after = item.place ?? item.seq;
      if (item !== undefined) yield item;
    }
  } finally {
    stop.abort();
  }
}

async function failureOf(connection: GatewayConnection, answer: Response): Promise<unknown> {
  try {
    await connection.read(answer);
  } catch (error) {
    return error;
  }
  return undefined;
}

/** @throws GatewayUnreachable for what no gateway sends. */
function contentOf(connection: GatewayConnection, data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw connection.unreachable(error, 'has sent an event that is no JSON');
  }
}

async function toldIn(content: unknown, after: number | string): Promise<Error> {
  const told = toldError(content) ?? {
    code: 'HOLDFAST_GATEWAY_ERROR',
    message: 'the stream has failed',
    details: {},
  };
  return told.code === TOO_SLOW ? new FollowerTooSlow(after) : await errorOf(told, 0);
}

/** Undefined for what only a later gateway knows of. */
function itemOf(event: string, content: unknown, id: string): StreamItem | undefined {
  if (event === 'event') {
    const stored = content as FollowedEvent;
    return { type: 'event', ...stored, ...(id === '' || id === String(stored.seq) ? {} : { place: id }) };
  }
  return LIVE.has(event) ? (content as StreamItem) : undefined;
}

function unreachable(connection: GatewayConnection, cause: unknown): unknown {
  if (cause instanceof GatewayUnreachable) return cause;
  if (cause === undefined)
    return connection.unreachable(undefined, 'ends each stream as soon as it has begun');
  return connection.unreachable(cause);
}

/** One server-sent event. */
export interface ServerSentEvent {
  /** `message` where the stream names none. */
  event: string;
  data: string;
  /** The last one that the stream has given so far; empty before the first. */
  id: string;
}

/**
 * Reads server-sent events out of a stream of bytes, however it is cut into pieces. An event that its stream doesn't finish is
 * none. Semantics: "Interpreting an event stream" of the HTML standard; `retry` is left to
 * the caller, who has its own back-off.
 */
export async function* serverSentEvents(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  let isAfterReturn = false;
  let event = '';
  let id = '';
  const data: string[] = [];
  for await (const chunk of bytes) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    // A line break may be cut in two.
    if (isAfterReturn && text.startsWith('\n')) text = text.slice(1);
    isAfterReturn = text === '' ? false : text.endsWith('\r');
    // Only what is new is searched: a long line comes in many pieces.
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id };
        data.length = 0;
        event = '';
        continue;
      }
      const colon = line.indexOf(':');
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'data') data.push(value);
      else if (field === 'event') event = value;
      else if (field === 'id' && !value.includes('\0')) id = value;
    }
  }
}
