import type { Store, ToolChunk as ToldChunk } from '../../src/store/store.ts';
import type { ToolChunk } from '../../src/tools/base-tool.ts';
import { type ChunkPiece, jsonBytes, MOST_BYTES, piecesOf } from './chunk-pieces.ts';

/** From one notice of a call to the next at least, milliseconds: 20 a second. */
const INTERVAL = 50;

/** Bytes that wait to be told at most. Of what a tool yields faster than it can be told, the index shows that some is missing. */
const MOST_WAITING = 64 * 1024;

/** Names the attempt of a call whose chunks are told. */
export type LiveChunksPlace = Pick<ToldChunk, 'session' | 'runKey' | 'callKey' | 'tool' | 'attempt'>;

interface Waiting {
  piece: ChunkPiece;
  bytes: number;
  /** Something that came before it was not told. */
  isBehindGap: boolean;
}

/**
 * Tells followers what a streaming tool yields: the first chunk at once, then at most 20 notices a second. Nothing waits for it,
 * and nothing of it is kept. What an attempt told that comes to nothing is dropped.
 */
export class LiveChunks {
  readonly #store: Pick<Store, 'tell'>;
  readonly #place: LiveChunksPlace;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #hasGap = false;
  #index = 0;
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(store: Pick<Store, 'tell'>, place: LiveChunksPlace) {
    this.#store = store;
    this.#place = place;
  }

  /** Takes a chunk; the result itself, which the call's response tells of, is none. */
  add(chunk: ToolChunk): void {
    if (this.#ended || chunk.streaming === false) return;
    for (const piece of piecesOf(chunk)) this.#append(piece);
    this.#proceed();
  }

  /** Tells what waits: the call is about to be settled with what the chunks were of. */
  end(): void {
    if (this.#ended) return;
    this.#close();
    while (this.#waiting.length > 0) this.#tellNext();
  }

  /** What was told belongs to no result. */
  drop(): void {
    this.#close();
    this.#waiting = [];
    if (this.#index === 0) return;
    this.#index = 0;
    const { session, runKey, callKey, attempt } = this.#place;
    this.#store.tell({ type: 'tool chunks dropped', session, runKey, callKey, attempt: attempt + 1 });
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
    this.#store.tell({ type: 'tool chunk', ...this.#place, index: this.#index++, ...next.piece });
  }

  #close(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }
}

function isPlainText(piece: ChunkPiece): piece is { content: string } {
  return typeof piece.content === 'string' && piece.error === undefined && piece.metadata === undefined;
}
