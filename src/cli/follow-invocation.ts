import { followEvents } from '../client/follow-events.ts';
import type { SessionNames, Store, StoreNotice } from '../store/store.ts';
import type { Printer } from './printer.ts';

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
  const { store, names, invocationId, after, printer, ended } = follow;
  let read = after;
  const stop = store.onNotice((notice) => {
    if ((notice.type === 'call started' || notice.type === 'call settled') && notice.runKey === invocationId)
      printNotice(printer, notice);
  });
  try {
    for await (const stored of followEvents(store, names, { after, until: ended })) {
      read = stored.seq;
      if (stored.event.invocationId === invocationId) printer.event(stored);
    }
    return read;
  } finally {
    stop();
  }
}

function printNotice(
  printer: Printer,
  notice: Extract<StoreNotice, { type: 'call started' | 'call settled' }>,
): void {
  if (notice.type === 'call started') printer.callStarted(notice);
  else printer.callSettled(notice);
}
