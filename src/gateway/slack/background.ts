import { setTimeout } from 'node:timers/promises';
import { errorAnswer } from '../error-answer.ts';
import type { GatewayLogger } from '../gateway-logger.ts';

/** Milliseconds for which something is tried that can't be done now. */
const LONGEST = 10 * 60_000;
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 15_000;

/** Whether Temporal, or the store, can't be reached now, so that the same may go well later. */
export function isPassing(error: unknown): boolean {
  const { status } = errorAnswer(error);
  return status === 503 || status === 504;
}

/** Does what was answered before it was done: Slack waits three seconds, and people longer. */
export class Background {
  readonly #logger: GatewayLogger;
  readonly #closing: AbortSignal;

  constructor({ logger, closing }: { logger: GatewayLogger; closing: AbortSignal }) {
    this.#logger = logger;
    this.#closing = closing;
  }

  /** @param about for the log: no names of users and no contents. */
  begin(about: Record<string, unknown>, work: () => Promise<void>): void {
    void work().catch((error: unknown) => {
      this.#logger.error('something from Slack could not be done', { ...about, error });
    });
  }

  /**
   * Tries again what can't be done now.
   *
   * @throws what it threw last.
   */
  async patiently<T>(work: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + LONGEST;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        return await work();
      } catch (error) {
        const isOver = Date.now() + pause > deadline || this.#closing.aborted;
        if (isOver || !isPassing(error)) throw error;
      }
      await setTimeout(pause, undefined, { signal: this.#closing }).catch(() => undefined);
    }
  }
}
