import { LRUCache } from 'lru-cache';
import { StoreBehindHistory } from '../store-errors.ts';

/** Steps and calls are on the disk a second after they have begun, or once the next commit that waits is. */
const MOST_KEPT = 1_000;

/**
 * Steps and calls that this process has begun without waiting for the disk: docs/decisions/050. An attempt that outlives a crash of the
 * database server sends its beginning again before it records what came of it.
 */
export class UnawaitedBeginnings {
  readonly #again = new LRUCache<string, () => Promise<unknown>>({ max: MOST_KEPT });

  /** @param again begins it under the same token, and waits for the disk. */
  add(session: string, key: string, again: () => Promise<unknown>): void {
    this.#again.set(`${session}/${key}`, again);
  }

  /** @param ask needs the beginning of a step or a call. */
  async begun<T>(session: string, key: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      const again = this.#again.get(`${session}/${key}`);
      if (again === undefined || !(error instanceof StoreBehindHistory)) throw error;
      await again();
      return await ask();
    }
  }

  /** @param record needs the beginning, and its commit waits for the disk, which proves the beginning too. */
  async recorded<T>(session: string, key: string, record: () => Promise<T>): Promise<T> {
    const recorded = await this.begun(session, key, record);
    this.forget(session, key);
    return recorded;
  }

  /** A commit that waits has followed. */
  forget(session: string, key: string): void {
    this.#again.delete(`${session}/${key}`);
  }
}
