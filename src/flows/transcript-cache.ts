import { LRUCache } from 'lru-cache';
import type { StoredEvent } from '../store/store.ts';

interface Transcript {
  seq: number;
  events: StoredEvent[];
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
    const kept = known?.events.filter(({ seq }) => seq <= knownSeq) ?? [];
    if (kept.length !== knownSeq) {
      this.#transcripts.delete(session);
      return undefined;
    }
    const transcript = [...kept, ...events];
    const bytes = (known?.bytes ?? 0) + events.reduce((sum, event) => sum + JSON.stringify(event).length, 0);
    this.#transcripts.set(session, { seq: transcript.at(-1)?.seq ?? 0, events: transcript, bytes });
    return transcript;
  }
}
