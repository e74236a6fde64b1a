const MOST_ITEMS = 64;
const MOST_BYTES = 1024 * 1024;

export interface Batching<Item, Result> {
  /** Items of one key never share a flush. */
  key(item: Item): string;
  bytes(item: Item): number;
  /** Results in the order of the items; an Error fails its own item only. */
  run(items: readonly Item[]): Promise<(Result | Error)[]>;
  /** Whether the items of a failed flush are tried one by one, so that a bad one doesn't fail its neighbours. */
  separable(error: unknown): boolean;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Coalesces concurrent work: while one flush is under way the next ones gather. */
export class Batch<Item, Result> {
  readonly #batching: Batching<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #flushing = false;

  constructor(batching: Batching<Item, Result>) {
    this.#batching = batching;
  }

  add(item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#waiting.push({ item, resolve, reject });
    if (!this.#flushing) {
      this.#flushing = true;
      setImmediate(() => void this.#flushAll());
    }
    return promise;
  }

  async #flushAll(): Promise<void> {
    while (this.#waiting.length > 0) await this.#flush(this.#take());
    this.#flushing = false;
  }

  #take(): Waiting<Item, Result>[] {
    const { key, bytes } = this.#batching;
    const taken: Waiting<Item, Result>[] = [];
    const left: Waiting<Item, Result>[] = [];
    const keys = new Set<string>();
    let sum = 0;
    for (const waiting of this.#waiting) {
      const size = bytes(waiting.item);
      const fits = taken.length === 0 || (taken.length < MOST_ITEMS && sum + size <= MOST_BYTES);
      if (fits && !keys.has(key(waiting.item))) {
        taken.push(waiting);
        sum += size;
      } else {
        left.push(waiting);
      }
      keys.add(key(waiting.item));
    }
    this.#waiting = left;
    return taken;
  }

  async #flush(taken: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#batching.run(taken.map(({ item }) => item));
      for (const [index, { resolve, reject }] of taken.entries()) {
        const result = results[index] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      if (taken.length > 1 && this.#batching.separable(error)) {
        for (const waiting of taken) await this.#flush([waiting]);
      } else {
        for (const { reject } of taken) reject(error);
      }
    }
  }
}
