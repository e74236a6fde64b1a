import type { SessionNames, Store, StoredEvent } from '../store/store.ts';
import { SessionNews } from './session-news.ts';
import { isOutage } from './store-outage.ts';

const PAGE = 500;

/** What of a session's events is followed. */
export interface FollowOptions {
  /**
   * Events after this seq, of the session that is there when the following begins, or the one that comes. Defaults to 0:
   * from the session's first.
   */
  after?: number | undefined;
  /** Ends the following. */
  signal?: AbortSignal | undefined;
}

/** How far a session was read. */
interface Place {
  /** The store's id of the session, once it is known. */
  session: string | undefined;
  last: number;
}

/**
 * A session's events in order, without gaps or repeats, those to come included: woken by what this process writes to the
 * store, and looking twice a second. Holds nothing while its reader is busy. Where the session is deleted and made again
 * under its names, it goes on with the new one's first event. A store that can't be reached is waited for.
 *
 * @param until once it has settled, the events that are there are the last ones.
 */
export async function* followEvents(
  store: Store,
  names: SessionNames,
  { after = 0, signal, until }: FollowOptions & { until?: Promise<unknown> },
): AsyncGenerator<StoredEvent, void, undefined> {
  const place: Place = { session: undefined, last: after };
  let over = false;
  let news: SessionNews | undefined;
  const end = () => {
    over = true;
    news?.wake();
  };
  until?.then(end, end);
  while (!signal?.aborted) {
    const wasOver = over;
    news = new SessionNews(store, place.session);
    let page: StoredEvent[] = [];
    try {
      page = await nextPage(store, names, place);
      if (page.length === 0) {
        if (wasOver) return;
        if (!over) await news.wait(signal);
      }
    } catch (error) {
      if (!isOutage(error)) throw error;
      await news.wait(signal);
    } finally {
      news.close();
    }
    for (const stored of page) {
      place.last = stored.seq;
      yield stored;
      if (signal?.aborted) return;
    }
  }
}

/** Empty where there is nothing new. Moves the place where another session has the names by now. */
async function nextPage(store: Store, names: SessionNames, place: Place): Promise<StoredEvent[]> {
  for (let found = await store.findSession(names); found !== undefined; ) {
    if (found.session !== place.session) {
      if (place.session !== undefined) place.last = 0;
      place.session = found.session;
    }
    if (found.seq <= place.last) return [];
    const page = await store.readEvents({ ...names, after: place.last, limit: PAGE });
    // Events are read by the session's names, which may have become another one's in between.
    found = await store.findSession(names);
    if (found?.session === place.session) return page;
  }
  return [];
}
