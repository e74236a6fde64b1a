import { jsonBytes } from '../../src/contract/json-bytes.ts';
import { cutToBytes } from '../../src/flows/size-rule.ts';
import { isRecord } from '../../src/protocol/json.ts';
import { JsonValueError, toJsonValue } from '../../src/schema/json-value.ts';
import type { LiveFeed, ToolChunk as ToldChunk } from '../../src/store/live/live-feed.ts';
import type { ToolChunk } from '../../src/tools/base-tool.ts';

/** From one notice of a call to the next at least, milliseconds: 20 a second. */
const INTERVAL = 50;

/** Most bytes that wait for followers. If a tool yields faster than its chunks can be sent, the index shows that some are missing. */
const MOST_WAITING = 64 * 1024;

/** Names the attempt of a call whose chunks are sent. */
type LiveChunksPlace = Pick<ToldChunk, 'session' | 'runKey' | 'callKey' | 'tool' | 'attempt'>;

interface Waiting {
  piece: ChunkPiece;
  bytes: number;
  /** An earlier chunk was not sent. */
  isBehindGap: boolean;
}

/**
 * Sends the chunks of a streaming tool to followers: the first chunk at once, then at most 20 notices a second. Nothing waits for it,
 * and nothing of it is kept. Chunks of an attempt without an outcome are dropped.
 */
export class LiveChunks {
  readonly #live: Pick<LiveFeed, 'tell'>;
  readonly #place: LiveChunksPlace;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #hasGap = false;
  #index = 0;
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(live: Pick<LiveFeed, 'tell'>, place: LiveChunksPlace) {
    this.#live = live;
    this.#place = place;
  }

  /** Takes a chunk; the result itself, which the call's response tells of, is none. */
  add(chunk: ToolChunk): void {
    if (this.#ended || chunk.streaming === false) return;
    for (const piece of piecesOf(chunk)) this.#append(piece);
    this.#proceed();
  }

  /** Sends the waiting chunks: the call is about to be settled with their result. */
  end(): void {
    if (this.#ended) return;
    this.#close();
    while (this.#waiting.length > 0) this.#tellNext();
  }

  /** The chunks so far belong to no result. */
  drop(): void {
    this.#close();
    this.#waiting = [];
    if (this.#index === 0) return;
    this.#index = 0;
    const { session, runKey, callKey, attempt } = this.#place;
    this.#live.tell({ type: 'tool chunks dropped', session, runKey, callKey, attempt: attempt + 1 });
  }

  #append(piece: ChunkPiece): void {
    if (isPlainText(piece) && piece.content === '') return;
    const bytes = jsonBytes(piece);
    if (this.#bytes + bytes > MOST_WAITING) {
      this.#hasGap = true;
      return;
    }
    this.#bytes += bytes;
    const last = this.#waiting.at(-1);
    if (last !== undefined && !this.#hasGap && isPlainText(last.piece) && isPlainText(piece)) {
      if (last.bytes + bytes <= MOST_BYTES) {
        last.piece = { content: last.piece.content + piece.content };
        last.bytes += bytes;
        return;
      }
    }
    this.#waiting.push({ piece, bytes, isBehindGap: this.#hasGap });
    this.#hasGap = false;
  }

  #proceed(): void {
    if (this.#timer !== undefined || this.#waiting.length === 0) return;
    const wait = this.#nextAt - performance.now();
    if (wait <= 0) this.#tellNext();
    if (this.#waiting.length === 0) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#proceed();
      },
      wait > 0 ? wait : INTERVAL,
    );
  }

  #tellNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#bytes -= next.bytes;
    this.#nextAt = performance.now() + INTERVAL;
    if (next.isBehindGap) this.#index += 1;
    this.#live.tell({ type: 'tool chunk', ...this.#place, index: this.#index++, ...next.piece });
  }

  #close(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }
}

function isPlainText(piece: ChunkPiece): piece is { content: string } {
  return typeof piece.content === 'string' && piece.error === undefined && piece.metadata === undefined;
}

/** Bytes of one notice's content, error and metadata as JSON: as many as PostgreSQL's NOTIFY carries, with room for the names around it. */
const MOST_BYTES = 7 * 1024;

const MOST_ERROR_BYTES = 1024;
const MOST_METADATA_BYTES = 2 * 1024;

/** Bytes of JSON that one byte of UTF-8 may become: `\\u0000`. */
const LONGEST_ESCAPE = 6;

/** Names and punctuation of the three fields. */
const FRAME_BYTES = 64;

type ChunkPiece = Pick<ToldChunk, 'content' | 'error' | 'metadata'>;

/**
 * Splits a chunk into pieces for one notice each. Text is split. A note replaces other JSON that is too large, and values that are
 * no JSON: followers get hints, and the call's response has all.
 */
function piecesOf({ content, error, metadata }: ToolChunk): ChunkPiece[] {
  const beside = { ...errorOf(error), ...metadataOf(metadata) };
  const room = MOST_BYTES - FRAME_BYTES - jsonBytes(beside);
  if (typeof content === 'string') {
    const texts = splitText(content, room);
    const last = texts.pop() ?? '';
    return [...texts.map((text) => ({ content: text })), { content: last, ...beside }];
  }
  if (content === undefined && Object.keys(beside).length === 0) return [];
  return [{ content: sendable(content, room), ...beside }];
}

/** Cuts between characters, so that each text takes at most `room` bytes of JSON, its quotes aside. */
function splitText(text: string, room: number): string[] {
  if (text.length * LONGEST_ESCAPE <= room) return [text];
  const texts: string[] = [];
  let from = 0;
  let at = 0;
  let bytes = 0;
  for (const character of text) {
    const more = jsonBytesOf(character);
    if (bytes + more > room) {
      texts.push(text.slice(from, at));
      from = at;
      bytes = 0;
    }
    bytes += more;
    at += character.length;
  }
  texts.push(text.slice(from));
  return texts;
}

/** JSON bytes of one character within a text. */
function jsonBytesOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return '\b\t\n\f\r'.includes(character) ? 2 : LONGEST_ESCAPE;
  if (code < 0x80) return character === '"' || character === '\\' ? 2 : 1;
  if (code < 0x800) return 2;
  if (code >= 0x10000) return 4;
  return character.isWellFormed() ? 3 : LONGEST_ESCAPE;
}

function errorOf(error: unknown): Pick<ChunkPiece, 'error'> {
  if (error === undefined || error === null) return {};
  return { error: cutToBytes(String(error), MOST_ERROR_BYTES / LONGEST_ESCAPE) };
}

function metadataOf(metadata: unknown): Pick<ChunkPiece, 'metadata'> {
  if (!isRecord(metadata)) return {};
  const sent = sendable(metadata, MOST_METADATA_BYTES);
  return isRecord(sent) ? { metadata: sent } : {};
}

function sendable(value: unknown, room: number): unknown {
  try {
    const json = toJsonValue(value) ?? null;
    const bytes = jsonBytes(json);
    return bytes <= room ? json : { omitted: `${bytes} bytes of JSON` };
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    return { omitted: cutToBytes(`no JSON: ${error.message}`, 256) };
  }
}
