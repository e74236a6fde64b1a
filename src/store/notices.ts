import type { StoreNotice } from './store.ts';

/** Tells followers in this process what was committed. */
export class Notices {
  readonly #listeners = new Set<(notice: StoreNotice) => void>();

  listen(listener: (notice: StoreNotice) => void): () => void {
    const own = (notice: StoreNotice) => listener(notice);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  tell(notice: StoreNotice): void {
    // A listener that throws must not fail the write that it hears of.
    for (const listener of this.#listeners) queueMicrotask(() => listener(notice));
  }
}
