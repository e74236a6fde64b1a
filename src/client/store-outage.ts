import { setTimeout } from 'node:timers/promises';
import { StoreUnavailable } from '../store/store-errors.ts';

/** How long a store that can't be reached is left alone, milliseconds. */
const PAUSE = 500;

/** Whether the store can't be reached now, and the same read may succeed later: one that was closed never comes back. */
export function isOutage(error: unknown): boolean {
  return error instanceof StoreUnavailable && !error.closed;
}

/**
 * Reads the store, again and again while it can't be reached.
 *
 * @throws what the read throws otherwise; AbortError on the signal.
 */
export async function readWhenBack<T>(read: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isOutage(error)) throw error;
      await setTimeout(PAUSE, undefined, { signal });
    }
  }
}
