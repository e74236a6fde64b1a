import { setTimeout } from 'node:timers/promises';

const FIRST = 100;
const LONGEST = 5_000;

/** Waits between tries of the same thing: longer each time, and not in step with others who wait for the same. */
export class Backoff {
  /** How long it may go on without a success, milliseconds. */
  readonly #patience: number;
  #next = FIRST;
  #since: number | undefined;

  constructor(patience: number) {
    this.#patience = patience;
  }

  /** It has worked: the next failure is a first one. */
  reset(): void {
    this.#next = FIRST;
    this.#since = undefined;
  }

  /** Whether it has failed for too long. */
  isSpent(): boolean {
    this.#since ??= Date.now();
    return Date.now() - this.#since >= this.#patience;
  }

  /**
   * @param atLeast milliseconds, as who is waited for has asked; no longer than the patience lasts.
   * @throws AbortError on the signal.
   */
  async wait(signal: AbortSignal | undefined, atLeast = 0): Promise<void> {
    const left = this.#patience - (this.#since === undefined ? 0 : Date.now() - this.#since);
    const time = Math.max(Math.min(atLeast, left), this.#next * (0.5 + Math.random() / 2));
    this.#next = Math.min(LONGEST, this.#next * 2);
    await setTimeout(time, undefined, { signal });
  }
}
