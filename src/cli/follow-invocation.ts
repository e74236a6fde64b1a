import type { SessionNames, Store, StoreNotice } from '../store/store.ts';
import type { Printer } from './printer.ts';

/** Another process may append where the store is shared; its notices don't reach this one. */
const POLL_INTERVAL = 500;

const PAGE = 500;

export interface Follow {
  store: Store;
  names: SessionNames;
  invocationId: string;
  /** Events after this seq are printed. */
  after: number;
  printer: Printer;
  ended: Promise<unknown>;
}

/** Prints an invocation's events in order, as they come, until it has ended. Returns the last seq that it has read. */
export async function followInvocation(follow: Follow): Promise<number> {
  const { store, names, invocationId, printer } = follow;
  let after = follow.after;
  let news = Promise.withResolvers<void>();
  let ended = false;
  const wake = () => news.resolve();
  const stop = store.onNotice((notice) => {
    if (notice.type === 'appended') wake();
    else if (notice.runKey === invocationId) printNotice(printer, notice);
  });
  const timer = setInterval(wake, POLL_INTERVAL);
  const end = () => {
    ended = true;
    wake();
  };
  follow.ended.then(end, end);
  try {
    for (;;) {
      const last = ended;
      for (;;) {
        const page = await store.readEvents({ ...names, after, limit: PAGE });
        for (const stored of page) {
          after = stored.seq;
          if (stored.event.invocationId === invocationId) printer.event(stored);
        }
        if (page.length < PAGE) break;
      }
      if (last) return after;
      await news.promise;
      news = Promise.withResolvers<void>();
    }
  } finally {
    clearInterval(timer);
    stop();
  }
}

function printNotice(printer: Printer, notice: Exclude<StoreNotice, { type: 'appended' }>): void {
  if (notice.type === 'call started') printer.callStarted(notice);
  else printer.callSettled(notice);
}
