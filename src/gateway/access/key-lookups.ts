import { setTimeout } from 'node:timers/promises';
import type { ApiKeyStore, KnownApiKey } from '../../store/store.ts';

/** Keys that one statement asks for. */
const MOST_AT_ONCE = 1_000;

type Waiting = PromiseWithResolvers<KnownApiKey | undefined>;

/**
 * Looks keys up in the store, together with whoever else waits: by one statement at a time, however many are asked for. So strangers
 * who try keys cost the store little, and whoever asks in the midst of them waits for two statements at most.
 */
export class KeyLookups {
  readonly #store: Pick<ApiKeyStore, 'findApiKeys'>;
  readonly #pause: number;
  readonly #waiting = new Map<string, Waiting>();
  #isAsking = false;
  #askedAt = Number.NEGATIVE_INFINITY;

  /** @param pause milliseconds from one statement to the next, at least. */
  constructor(store: Pick<ApiKeyStore, 'findApiKeys'>, pause: number) {
    this.#store = store;
    this.#pause = pause;
  }

  /** @throws StoreUnavailable */
  find(keyId: string): Promise<KnownApiKey | undefined> {
    const waiting = this.#waiting.get(keyId) ?? Promise.withResolvers();
    this.#waiting.set(keyId, waiting);
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

  async #askFor(batch: readonly [string, Waiting][]): Promise<void> {
    for (const [keyId] of batch) this.#waiting.delete(keyId);
    try {
      const rows = await this.#store.findApiKeys(batch.map(([keyId]) => keyId));
      const byId = new Map(rows.map((row) => [row.keyId, row]));
      for (const [keyId, { resolve }] of batch) resolve(byId.get(keyId));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
  }
}
