import { setTimeout } from 'node:timers/promises';

/** Lookups of one statement. */
const MOST_AT_ONCE = 1_000;

/** Looks up many in the store at once; the answer leaves out missing ones. */
type FindAll<Row> = (ids: readonly string[]) => Promise<ReadonlyMap<string, Row>>;

/**
 * Looks callers' secrets up in the store, together with all that wait: by one statement at a time. So made-up secrets cost the
 * store little, and a genuine caller among them waits for two statements at most.
 */
export class BatchedLookups<Row> {
  readonly #findAll: FindAll<Row>;
  readonly #pause: number;
  readonly #waiting = new Map<string, PromiseWithResolvers<Row | undefined>>();
  #isAsking = false;
  #askedAt = Number.NEGATIVE_INFINITY;

  /** @param pause milliseconds from one statement to the next, at least. */
  constructor(findAll: FindAll<Row>, pause: number) {
    this.#findAll = findAll;
    this.#pause = pause;
  }

  /** @throws StoreUnavailable */
  find(id: string): Promise<Row | undefined> {
    const waiting = this.#waiting.get(id) ?? Promise.withResolvers();
    this.#waiting.set(id, waiting);
    if (!this.#isAsking) void this.#askForAll();
    return waiting.promise;
  }

  async #askForAll(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiting.size > 0) {
      const rest = this.#askedAt + this.#pause - performance.now();
      if (rest > 0) await setTimeout(rest);
      this.#askedAt = performance.now();
      await this.#askFor([...this.#waiting].slice(0, MOST_AT_ONCE));
    }
    this.#isAsking = false;
  }

  async #askFor(batch: readonly [string, PromiseWithResolvers<Row | undefined>][]): Promise<void> {
    for (const [id] of batch) this.#waiting.delete(id);
    try {
      const rows = await this.#findAll(batch.map(([id]) => id));
      for (const [id, { resolve }] of batch) resolve(rows.get(id));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
  }
}
