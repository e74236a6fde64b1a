import { setImmediate as nextTurn } from 'node:timers/promises';

const asked = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Reads that are asked for in one moment, under one key, become one: a notice wakes all followers of a session at once. It
 * begins after the last of them has asked, so that nobody gets what was true before. Each gets a copy of its own.
 */
export async function sharedRead<T>(store: object, key: string, read: () => Promise<T>): Promise<T> {
  const reads = asked.get(store) ?? new Map<string, Promise<unknown>>();
  asked.set(store, reads);
  const joined = reads.get(key);
  if (joined !== undefined) return structuredClone((await joined) as T);
  const reading = (async () => {
    await nextTurn();
    reads.delete(key);
    return await read();
  })();
  reads.set(key, reading);
  return await reading;
}
