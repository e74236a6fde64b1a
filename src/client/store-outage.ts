import { setTimeout } from 'node:timers/promises';
import { isStoreAway } from '../store/store-errors.ts';

/** How long a store that can't be reached is left alone, milliseconds. */
const PAUSE = 500;

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
      if (!isStoreAway(error)) throw error;
      await setTimeout(PAUSE, undefined, { signal });
    }
  }
}
