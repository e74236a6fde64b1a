import { setImmediate } from 'node:timers/promises';
import { types } from 'node:util';
import { isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { ToolChunk } from './base-tool.ts';
import { jsonResult } from './function-response.ts';
import { isMediaResult, mediaCopy } from './media.ts';
import { InvalidResultError, ToolError } from './tool-error.ts';

/** Characters of texts in sum: what no model reads must not fill a worker's memory. */
const MOST_TEXT = 10 * 1024 * 1024;

/** A generator that never waits would keep timers, and so its own timeout, from coming. */
const CHUNKS_BETWEEN_BREATHS = 64;

export interface StreamOptions {
  maxChunks: number;
  /** Ends the stream with its reason. */
  signal: AbortSignal;
  /** An error that it throws ends the stream. */
  onChunk?: ((chunk: ToolChunk) => void) | undefined;
}

/** The result of `execute` if its tool streams: an async generator, or a plain one. */
export type ChunkStream = AsyncIterable<unknown> | Iterable<unknown>;

export function isChunkStream(value: unknown): value is ChunkStream {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || Object.prototype.toString.call(value) === '[object Generator]';
}

/** A streaming tool yielded more than it may. Another attempt would, too. */
export class TooManyChunks extends ToolError {
  override readonly name = 'TooManyChunks';

  constructor(maxChunks: number) {
    super(`yielded more than ${maxChunks} chunks without a result; maxChunks of the tool allows no more`, {
      code: 'HOLDFAST_TOO_MANY_CHUNKS',
      retryable: false,
    });
  }
}

/** `cause` is what `onChunk` threw: it is no failure of the tool. */
export class ChunkRefused {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/**
 * Runs a stream to its end and makes one result of it: the content of the chunk that says `streaming: false`, or what a
 * generator returns; else all texts as one, and where anything but text came, the last of all. A stream that is left early
 * is told to end.
 *
 * @throws Error with the text of a last chunk's `error`. Errors of earlier chunks are partial failures, told and passed over.
 * @throws TooManyChunks
 * @throws InvalidResultError for a chunk without a JSON form, and for texts of more than 10 Mi characters that are the result.
 * @throws ChunkRefused
 */
export async function streamedResult(stream: ChunkStream, options: StreamOptions): Promise<unknown> {
  const chunks = chunksOf(stream);
  let isOver = false;
  try {
    const last = await lastChunk(chunks, options, () => {
      isOver = true;
    });
    if (!isOver) await unlessAborted(options.signal, () => chunks.return?.());
    isOver = true;
    if (last.error !== undefined) throw new Error(last.error);
    return last.content;
  } finally {
    if (!isOver) letGo(chunks);
  }
}

async function lastChunk(chunks: Chunks, options: StreamOptions, over: () => void): Promise<ToolChunk> {
  const joined = new JoinedChunks();
  for (let index = 0; ; index++) {
    const { value, done = false } = await unlessAborted(options.signal, () => chunks.next());
    if (done) over();
    if (done && value === undefined) return { content: joined.content, streaming: false };
    const chunk = chunkOf(value, done, index);
    if (chunk.streaming && index === options.maxChunks) throw new TooManyChunks(options.maxChunks);
    tell(options.onChunk, chunk);
    if (!chunk.streaming) return chunk;
    joined.add(chunk);
    if (index % CHUNKS_BETWEEN_BREATHS === 0) await setImmediate();
  }
}

class JoinedChunks {
  #texts: string[] | undefined = [];
  #length = 0;
  #last: unknown;

  add({ content }: ToolChunk): void {
    if (content === undefined) return;
    if (types.isUint8Array(content) && types.isUint8Array(this.#last)) {
      throw new InvalidResultError('bytes are streamed in pieces; put them together and yield them once');
    }
    this.#last = content;
    if (typeof content === 'string') this.#append(content);
    else this.#texts = undefined;
  }

  #append(text: string): void {
    this.#length += text.length;
    if (this.#length <= MOST_TEXT) this.#texts?.push(text);
    else if (this.#texts !== undefined) this.#texts = [];
  }

  /** @throws InvalidResultError for texts that are too long as one. */
  get content(): unknown {
    if (this.#texts !== undefined && this.#length > MOST_TEXT) {
      throw new InvalidResultError(
        `the texts have ${this.#length} characters, at most ${MOST_TEXT} can be a result; end with a chunk whose ` +
          '`streaming` is false and say where they are kept',
      );
    }
    return this.#texts === undefined || this.#last === undefined ? this.#last : this.#texts.join('');
  }
}

type Chunks = AsyncIterator<unknown, unknown> | Iterator<unknown, unknown>;

function chunksOf(stream: ChunkStream): Chunks {
  return Symbol.asyncIterator in stream ? stream[Symbol.asyncIterator]() : stream[Symbol.iterator]();
}

async function unlessAborted<T>(signal: AbortSignal, action: () => T): Promise<Awaited<T>> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([action(), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** One that waits for something runs its `finally` only once that has come, so nobody waits for it. */
function letGo(chunks: Chunks): void {
  const end = async () => chunks.return?.();
  // It is left because of another error, which is the one that counts.
  end().catch(() => undefined);
}

function tell(onChunk: StreamOptions['onChunk'], chunk: ToolChunk): void {
  try {
    onChunk?.(chunk);
  } catch (cause) {
    throw new ChunkRefused(cause);
  }
}

const CHUNK_FIELDS = ['content', 'streaming', 'error', 'metadata'];

function chunkOf(value: unknown, isLast: boolean, index: number): ToolChunk {
  if (!isChunk(value)) return { content: contentOf(value, index), streaming: !isLast };
  const { content, error, metadata } = value;
  if (error !== undefined && typeof error !== 'string') {
    throw new InvalidResultError(`chunk ${index}: error: expected a string, got ${kindOf(error)}`);
  }
  if (metadata !== undefined && !isRecord(metadata)) {
    throw new InvalidResultError(`chunk ${index}: metadata: expected an object, got ${kindOf(metadata)}`);
  }
  return {
    ...(content === undefined ? {} : { content: contentOf(content, index) }),
    streaming: value.streaming && !isLast,
    // Go's zero value says that there is none.
    ...(error ? { error } : {}),
    ...(metadata === undefined
      ? {}
      : { metadata: inChunk(index, () => jsonResult(metadata)) as Record<string, unknown> }),
  };
}

/** A plain yield may have a field `streaming` of its own: a chunk has no other fields than a chunk's. */
function isChunk(value: unknown): value is Record<string, unknown> & { streaming: boolean } {
  return (
    isRecord(value) &&
    typeof value.streaming === 'boolean' &&
    Object.keys(value).every((field) => CHUNK_FIELDS.includes(field))
  );
}

/** A copy: the tool may go on changing what it has yielded. */
function contentOf(content: unknown, index: number): unknown {
  if (typeof content === 'string') return content;
  return inChunk(index, () => (isMediaResult(content) ? mediaCopy(content) : jsonResult(content)));
}

function inChunk<T>(index: number, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof InvalidResultError)) throw error;
    throw new InvalidResultError(`chunk ${index}: ${error.message}`, { cause: error });
  }
}
