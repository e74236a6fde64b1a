import type { SessionNames, Store, StoreNotice } from '../store/store.ts';
import type { Printer } from './printer.ts';

/** Another process may append where the store is shared; its notices don't reach this one. */
const POLL_INTERVAL = 500;

export interface Follow {
  store: Store;
  names: SessionNames;
  invocationId: string;
  /** Events after this seq are printed. */
  after: number;
  printer: Printer;
  ended: Promise<unknown>;
}

/** Prints an invocation's events in order, as they come, until it has ended. */
export async function followInvocation(follow: Follow): Promise<void> {
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
      for (const stored of await store.readEvents({ ...names, after })) {
        after = stored.seq;
        if (stored.event.invocationId === invocationId) printer.event(stored);
      }
      if (last) return;
      await news.promise;
      news = Promise.withResolvers<void>();
    }
  } finally {
    clearInterval(timer);
    stop();
  }
}

function printNotice(printer: Printer, notice: Exclude<StoreNotice, { type: 'appended' }>): void {
  if (notice.type === 'call started') printer.callStarted(notice.tool, notice.attempt);
  else printer.callSettled(notice.tool, notice.failed);
}
