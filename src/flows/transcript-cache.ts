import { LRUCache } from 'lru-cache';
import type { StoredEvent } from '../store/store.ts';

interface Transcript {
  seq: number;
  events: StoredEvent[];
  /** Of each event. */
  sizes: number[];
  bytes: number;
}

const DEFAULT_BYTES = 64 * 1024 * 1024;

/**
 * Transcripts that this worker has read, so that a step reads only what is new. Bounded in bytes; everything is correct
 * without it.
 */
export class TranscriptCache {
  readonly #transcripts: LRUCache<string, Transcript>;

  /** @param maxBytes of event JSON that is kept. Defaults to 64 MiB. */
  constructor(maxBytes: number = DEFAULT_BYTES) {
    this.#transcripts = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => Math.max(bytes, 1),
    });
  }

  /** Last seq that is kept of a session; 0 without one. */
  knownSeq(session: string | undefined): number {
    return session === undefined ? 0 : (this.#transcripts.get(session)?.seq ?? 0);
  }

  /**
   * Adds the events behind the known seq and returns the whole transcript; undefined where there is a gap between
   * them, and the session is forgotten.
   */
  extend(
    session: string,
    knownSeq: number,
    events: readonly StoredEvent[],
  ): readonly StoredEvent[] | undefined {
    const known = this.#transcripts.get(session);
    if (knownSeq > (known?.events.length ?? 0)) {
      this.#transcripts.delete(session);
      return undefined;
    }
    // Places are seqs less one: seq is gapless from 1.
    const kept = known?.sizes.slice(0, knownSeq) ?? [];
    const sizes = [...kept, ...events.map((event) => Buffer.byteLength(JSON.stringify(event)))];
    const transcript = [...(known?.events.slice(0, knownSeq) ?? []), ...events];
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    this.#transcripts.set(session, { seq: transcript.at(-1)?.seq ?? 0, events: transcript, sizes, bytes });
    return transcript;
  }
}
