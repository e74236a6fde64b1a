import type { Database } from './database.ts';

/** The clock of the store, which all processes share. */
export interface StoreClock {
  /**
   * The time, milliseconds since the epoch: expiry and age go by this clock, never by a machine's own. The store is
   * asked once a minute; in between its time is counted on.
   *
   * @throws StoreUnavailable
   */
  now(): Promise<number>;
}

/** Milliseconds: two machines' seconds part by less than a millisecond in that time. */
const CACHE_TIME = 60_000;

const NOW = 'select holdfast.now_ms() as now';

export class CountedClock implements StoreClock {
  readonly #database: Database;
  /** The store's time, and that of the machine's steady clock, which nobody sets. */
  #known: { now: number; at: number } | undefined;
  #asking: Promise<number> | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  async now(): Promise<number> {
    const passed = this.#known === undefined ? CACHE_TIME : performance.now() - this.#known.at;
    if (this.#known !== undefined && passed < CACHE_TIME) return Math.floor(this.#known.now + passed);
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return await this.#asking;
  }

  async #ask(): Promise<number> {
    const [row] = await this.#database.query<{ now: string }>(NOW);
    // The answer is as old as its way here: no deadline is over before its time.
    this.#known = { now: Number((row as { now: string }).now), at: performance.now() };
    return this.#known.now;
  }
}
