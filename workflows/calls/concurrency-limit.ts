import { CancellationScope } from '@temporalio/workflow';

interface Waiting {
  alone: boolean;
  admit(): void;
}

/**
 * Limits how many calls run at once: those that are safe together, up to a number; one that isn't runs alone. First come, first
 * served: no call overtakes one that waits to be alone.
 */
export class ConcurrencyLimit {
  readonly #most: number;
  #running = 0;
  #alone = false;
  #waiting: Waiting[] = [];

  /** @param most that run at once. */
  constructor(most: number) {
    this.#most = most;
  }

  /** One that is cancelled while it waits doesn't run. */
  async run<T>(alone: boolean, work: () => Promise<T>): Promise<T> {
    // Calls that need not wait begin at once, in the order in which they come.
    if (this.#waiting.length === 0 && this.#hasRoom(alone)) this.#enter(alone);
    else await this.#admission(alone);
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#alone = false;
      this.#admitNext();
    }
  }

  #hasRoom(alone: boolean): boolean {
    return alone ? this.#running === 0 : !this.#alone && this.#running < this.#most;
  }

  #enter(alone: boolean): void {
    this.#running += 1;
    this.#alone = alone;
  }

  #admission(alone: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const one: Waiting = { alone, admit: resolve };
      this.#waiting.push(one);
      CancellationScope.current().cancelRequested.catch((error) => {
        if (!this.#waiting.includes(one)) return;
        this.#waiting = this.#waiting.filter((other) => other !== one);
        reject(error);
        this.#admitNext();
      });
    });
  }

  #admitNext(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#hasRoom(next.alone)) return;
      this.#waiting.shift();
      this.#enter(next.alone);
      next.admit();
    }
  }
}
