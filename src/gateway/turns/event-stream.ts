import { watchAdmission } from '../access/admission-watch.ts';
import { errorAnswer } from '../error-answer.ts';
import type { GatewayLogger } from '../gateway-logger.ts';
import type { OpenStreams } from './open-streams.ts';

/** One server-sent event. */
export interface Frame {
  /** Where its reader goes on after. */
  id?: number | string;
  event: string;
  data: unknown;
}

export interface EventStream {
  /** Items to send, until they end or the signal is aborted. */
  frames: (signal: AbortSignal) => AsyncIterable<Frame>;
  streams: OpenStreams;
  /** The owner of the stream; undefined for callers without a limit. */
  who: string | undefined;
  /** Throws where its reader may have it no longer. */
  readmit: () => Promise<void>;
  /** Milliseconds. */
  keepAlive: number;
  logger: GatewayLogger;
  requestId: string;
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/** Milliseconds after which a reader that was cut off comes back. */
const RETRY = 1_000;

const encoder = new TextEncoder();

/** Effects of {@link eventStream} besides its frames. */
const OPENING = `retry: ${RETRY}\n\n`;
const KEEP_ALIVE = ': keep-alive\n\n';
const CLOSING = ': the gateway closes\n\n';
const NOT_ADMITTED = ': come back and be let in anew\n\n';

/**
 * Server-sent events, made one at a time, when their reader has taken the one before: of a reader that is slow nothing is kept.
 * A reader that goes away ends the making at once, and one that may not have it any more soon.
 */
export function eventStream(stream: EventStream): Response {
  const writing = new StreamWriting(stream);
  const body = new ReadableStream<Uint8Array>(
    { pull: (controller) => writing.next(controller), cancel: () => writing.end() },
    { highWaterMark: 0 },
  );
  return new Response(body, { status: 200, headers: HEADERS });
}

/** The answer to a HEAD of a stream. */
export function noStream(): Response {
  return new Response(null, { status: 200, headers: HEADERS });
}

type Settled = () => IteratorResult<Frame>;

class StreamWriting {
  readonly #stream: EventStream;
  readonly #stop = new AbortController();
  #frames: AsyncIterator<Frame> | undefined;
  #forget: () => void = () => undefined;
  #isAsked = false;
  #settled: Settled | undefined;
  #wake: () => void = () => undefined;

  constructor(stream: EventStream) {
    this.#stream = stream;
  }

  /** Writes one thing, as soon as there is one. */
  async next(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const write = (text: string) => controller.enqueue(encoder.encode(text));
    try {
      if (this.#frames === undefined) {
        this.#frames = this.#begin(controller);
        write(OPENING);
        return;
      }
      const next = await this.#take(this.#frames);
      if (this.#stop.signal.aborted) return;
      if (next === 'silence') write(KEEP_ALIVE);
      else if (next === 'closing') this.#finish(controller, CLOSING);
      else if (next.done) this.#finish(controller);
      else write(frameText(next.value));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#finish(controller, frameText(this.#failure(error)));
    }
  }

  end(): void {
    this.#stop.abort();
    this.#forget();
    this.#wake();
    this.#frames?.return?.().catch(() => undefined);
  }

  #begin(controller: ReadableStreamDefaultController<Uint8Array>): AsyncIterator<Frame> {
    const { streams, frames, who, readmit, logger, requestId } = this.#stream;
    const { signal } = this.#stop;
    this.#forget = streams.add(who);
    const end = (why: unknown) => {
      logger.info('a stream ends whose reader isn’t let in any more', { requestId, error: why });
      this.#finish(controller, NOT_ADMITTED);
    };
    watchAdmission({ readmit, end, signal });
    streams.closing.addEventListener('abort', () => this.#wake(), { once: true, signal });
    return frames(signal)[Symbol.asyncIterator]();
  }

  /** Races no promises: one that lives as long as the stream would keep every other. */
  async #take(frames: AsyncIterator<Frame>): Promise<IteratorResult<Frame> | 'silence' | 'closing'> {
    const { streams, keepAlive } = this.#stream;
    if (!this.#isAsked) this.#ask(frames);
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = setTimeout(resolve, keepAlive);
      if (this.#settled !== undefined || streams.closing.aborted) resolve();
    });
    clearTimeout(timer);
    if (streams.closing.aborted) return 'closing';
    const settled = this.#settled;
    if (settled === undefined) return 'silence';
    this.#settled = undefined;
    this.#isAsked = false;
    return settled();
  }

  #ask(frames: AsyncIterator<Frame>): void {
    this.#isAsked = true;
    const settle = (settled: Settled) => {
      this.#settled = settled;
      this.#wake();
    };
    frames.next().then(
      (result) => settle(() => result),
      (error: unknown) =>
        settle(() => {
          throw error;
        }),
    );
  }

  #finish(controller: ReadableStreamDefaultController<Uint8Array>, last?: string): void {
    if (last !== undefined) controller.enqueue(encoder.encode(last));
    controller.close();
    this.end();
  }

  #failure(error: unknown): Frame {
    const { body, unexpected } = errorAnswer(error);
    const { logger, requestId } = this.#stream;
    if (unexpected) logger.error('a stream has failed', { requestId, error });
    return { event: 'error', data: body.error };
  }
}

export function frameText({ id, event, data }: Frame): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return `${idLine}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
