import type { SessionNames, Store, StoredEvent } from '../store/store.ts';
import { SessionNews } from './session-news.ts';

const PAGE = 500;

/** What of a session's events is followed. */
export interface FollowOptions {
  /** Events after this seq. Defaults to 0: from the session's first. */
  after?: number | undefined;
  /** Ends the following. */
  signal?: AbortSignal | undefined;
}

/**
 * A session's events in order, without gaps or repeats, those to come included: woken by what this process writes to the
 * store, and looking twice a second. Holds nothing while its reader is busy.
 *
 * @param until once it has settled, the events that are there are the last ones.
 */
export async function* followEvents(
  store: Store,
  names: SessionNames,
  { after = 0, signal, until }: FollowOptions & { until?: Promise<unknown> },
): AsyncGenerator<StoredEvent, void, undefined> {
  let last = after;
  let session: string | undefined;
  let over = false;
  let news: SessionNews | undefined;
  const end = () => {
    over = true;
    news?.wake();
  };
  until?.then(end, end);
  while (!signal?.aborted) {
    const wasOver = over;
    session ??= (await store.findSession(names))?.session;
    news = new SessionNews(store, session);
    let page: StoredEvent[];
    try {
      page = await store.readEvents({ ...names, after: last, limit: PAGE });
      if (page.length === 0) {
        if (wasOver) return;
        if (!over) await news.wait(signal);
      }
    } finally {
      news.close();
    }
    for (const stored of page) {
      last = stored.seq;
      yield stored;
      if (signal?.aborted) return;
    }
  }
}
