import type { StoredEvent } from '../../contract/events.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { sharedRead } from '../stream/shared-reads.ts';

const LONGEST_PAGE = 500;

/**
 * How far a follower has read the session of some names. Where the session is deleted and made again, it begins with the
 * new one's first event.
 */
export class SessionPages {
  readonly #store: Store;
  readonly #names: SessionNames;
  readonly #found: (session: string, end: number) => void;
  /** The store's id of the session, once it is known. */
  session: string | undefined;
  /** Seq of the last event that was taken. */
  last: number;
  /** Seq of the session's last event, as of the last look. */
  end = 0;

  /** @param found called with each look: the session, and its last seq. */
  constructor(
    store: Store,
    names: SessionNames,
    after: number,
    found: (session: string, end: number) => void = () => undefined,
  ) {
    this.#store = store;
    this.#names = names;
    this.#found = found;
    this.last = after;
  }

  /**
   * The next events; empty without new ones. The caller sets `last` for each event that it takes.
   *
   * @param to the last seq that is wanted; all that there are without.
   */
  async next(to = Number.POSITIVE_INFINITY): Promise<StoredEvent[]> {
    for (let found = await this.#find(); found !== undefined; ) {
      if (found.session !== this.session) {
        if (this.session !== undefined) this.last = 0;
        this.session = found.session;
      }
      this.end = found.seq;
      if (found.seq <= this.last) {
        this.#found(found.session, found.seq);
        return [];
      }
      const page = await this.#read(to > this.last ? to - this.last : LONGEST_PAGE);
      // Events are read by the session's names, which may have become another one's in between.
      found = await this.#find();
      if (found?.session !== this.session) continue;
      this.#found(found.session, found.seq);
      return page;
    }
    this.end = this.last;
    return [];
  }

  #find(): ReturnType<Store['sessions']['find']> {
    return sharedRead(this.#store, `session ${this.#key}`, () => this.#store.sessions.find(this.#names));
  }

  #read(most: number): Promise<StoredEvent[]> {
    const read = { ...this.#names, after: this.last, limit: Math.min(most, LONGEST_PAGE) };
    return sharedRead(this.#store, `events ${read.after} ${read.limit} ${this.#key}`, () =>
      this.#store.sessions.readEvents(read),
    );
  }

  get #key(): string {
    const { app, userId, sessionId } = this.#names;
    return JSON.stringify([app, userId, sessionId]);
  }
}
