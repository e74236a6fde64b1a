import type { Content } from '../events/content.ts';
import type { StoredEvent } from '../store/store.ts';
import type { TakenCallIds } from './call-ids.ts';
import { GrowingContents } from './contents.ts';
import { freezeDeep } from './freeze-deep.ts';

/** What a step sees of its session, and all that it will see: later events change nothing in it. */
export interface Transcript {
  /** Seq of the last event; 0 without any. */
  readonly seq: number;
  readonly last: StoredEvent | undefined;
  /** The last visible message of the user. */
  readonly message: Content | undefined;
  readonly callIds: TakenCallIds;
  /** All events, hidden ones included: a new array of frozen events. */
  events(): StoredEvent[];
  /** What the model sees: a new array of frozen contents, to be replaced and not edited. */
  contents(): Content[];
}

/**
 * A session's events as this worker has read them, with what is derived of them. It grows at its end only, so that the
 * transcripts handed out share it: a step of a long session costs what is new.
 */
export class TranscriptLog {
  readonly #events: StoredEvent[] = [];
  readonly #contents = new GrowingContents();
  #bytes = 0;

  /** Seq of the last event; seq is gapless from 1. */
  get seq(): number {
    return this.#events.length;
  }

  /** About how much memory it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds those of `events` that are new, and freezes them. False, and nothing is added, where they don't follow what is
   * here: there is a gap, or an event of another history stands at a seq that is taken.
   */
  append(events: readonly StoredEvent[]): boolean {
    if (!this.#continuesWith(events)) return false;
    const before = this.seq;
    const { list } = this.#contents;
    const listed = list.length;
    for (const event of events) {
      if (event.seq <= before) continue;
      this.#events.push(event);
      this.#bytes += freezeDeep(event);
    }
    this.#contents.extend(this.#events, before);
    const added = this.#contents.list === list ? list.slice(listed) : this.#contents.list;
    for (const content of added) freezeDeep(content);
    return true;
  }

  #continuesWith(events: readonly StoredEvent[]): boolean {
    const first = events[0]?.seq ?? 0;
    if (first > this.seq + 1) return false;
    return events.every(({ seq, event }, index) => {
      const known = this.#events[seq - 1];
      return seq === first + index && (known === undefined || known.event.id === event.id);
    });
  }

  /** What it was at `seq`. Earlier ones than its last, which only a replaced attempt asks for, are made anew. */
  at(seq: number): Transcript {
    if (seq === this.seq) return transcript(this.#events, seq, this.#contents);
    const contents = new GrowingContents();
    const events = this.#events.slice(0, seq);
    contents.extend(events, 0);
    return transcript(events, seq, contents);
  }
}

function transcript(
  events: readonly StoredEvent[],
  seq: number,
  { list, message, callIds }: GrowingContents,
): Transcript {
  const { length } = list;
  return {
    seq,
    last: events[seq - 1],
    message,
    callIds: { has: (id) => callIds.isTakenBefore(seq + 1, id) },
    events: () => events.slice(0, seq),
    contents: () => list.slice(0, length),
  };
}
