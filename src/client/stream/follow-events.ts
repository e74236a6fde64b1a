import type { StoredEvent } from '../../contract/events.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { isStoreAway } from '../../store/store-errors.ts';
import { SessionPages } from '../sessions/session-pages.ts';
import { SessionNews } from './session-news.ts';

/** Options of a reader that follows a session's events. */
export interface FollowOptions {
  /**
   * Events after this seq, or after the event of this `place`, of the session that is there when the following begins, or the one
   * that comes. Defaults to 0: from the session's first.
   */
  after?: number | string | undefined;
  /**
   * Whether the sessions of agents that calls run are followed, too; their events are marked by `holdfast`. Defaults to true.
   */
  children?: boolean | undefined;
  /** Ends the following. */
  signal?: AbortSignal | undefined;
}

/** How one session is read. */
export interface SessionReading {
  /** Events after this seq. Defaults to 0. */
  after?: number;
  signal?: AbortSignal | undefined;
  /** Once it has settled, the events that are there are the last ones. */
  until?: Promise<unknown> | undefined;
  /** Called with each look: the session, and its last seq. */
  found?: (session: string, end: number) => void;
  /** Called where an agent of one of its calls is told of. */
  told?: () => void;
}

/**
 * A session's events in order, without gaps or repeats, those to come included: woken by what this process writes to the
 * store, and looking twice a second. Holds nothing while its reader is busy. Where the session is deleted and made again
 * under its names, it goes on with the new one's first event. A store that can't be reached is waited for.
 */
export async function* followEvents(
  store: Store,
  names: SessionNames,
  { after = 0, signal, until, found, told }: SessionReading,
): AsyncGenerator<StoredEvent, void, undefined> {
  const pages = new SessionPages(store, names, after, found);
  let over = false;
  let news: SessionNews | undefined;
  const end = () => {
    over = true;
    news?.wake();
  };
  until?.then(end, end);
  while (!signal?.aborted) {
    const wasOver = over;
    news = new SessionNews(store, pages.session, names, told);
    let page: StoredEvent[] = [];
    try {
      page = await pages.next();
      if (page.length === 0) {
        if (wasOver) return;
        if (!over) await news.wait(signal);
      }
    } catch (error) {
      if (!isStoreAway(error)) throw error;
      await news.wait(signal);
    } finally {
      news.close();
    }
    for (const stored of page) {
      pages.last = stored.seq;
      yield stored;
      if (signal?.aborted) return;
    }
  }
}
