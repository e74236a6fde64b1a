import { RequestRefused } from '../gateway-errors.ts';

/** Streams that one principal may have open. */
const MOST_STREAMS = 256;
/** When to come back where there are as many, seconds. */
const RETRY_AFTER = '5';

/** The streams that a gateway is sending, so that nobody has too many, and it can end them when it closes. */
export class OpenStreams {
  readonly #closing = new AbortController();
  readonly #most: number;
  readonly #of = new Map<string, number>();
  #open = 0;

  /** @param most of each principal. */
  constructor(most: number = MOST_STREAMS) {
    this.#most = most;
  }

  /** How many there are. */
  get size(): number {
    return this.#open;
  }

  /** Aborted when the gateway closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** @throws RequestRefused where they have as many open as they may. */
  demandRoom(who: string | undefined): void {
    if (who === undefined || (this.#of.get(who) ?? 0) < this.#most) return;
    throw new RequestRefused(
      'HOLDFAST_GATEWAY_TOO_MANY_REQUESTS',
      'too many streams are open: end one of them first',
      {
        'retry-after': RETRY_AFTER,
      },
    );
  }

  /**
   * Counts a stream until the returned function is called.
   *
   * @param who has it; undefined for who may have any number.
   * @throws RequestRefused where they have as many open as they may.
   */
  add(who: string | undefined): () => void {
    this.demandRoom(who);
    this.#count(who, 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#count(who, -1);
      isOpen = false;
    };
  }

  end(): void {
    this.#closing.abort();
  }

  #count(who: string | undefined, change: number): void {
    this.#open += change;
    if (who === undefined) return;
    const count = (this.#of.get(who) ?? 0) + change;
    if (count === 0) this.#of.delete(who);
    else this.#of.set(who, count);
  }
}
