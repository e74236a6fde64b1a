import type { WorkerInterceptors } from '@temporalio/worker';
import { retryLater } from '../../../activities/attempt.ts';
import { raceEndings } from '../../../activities/deadline.ts';

/**
 * A worker's way out before its grace time is over: running activities are left where they are, and their next attempts
 * follow at once, on another worker. Costs them what the loss of a worker costs.
 */
export class Leaving {
  readonly #left = new AbortController();
  #running = 0;

  /** For the worker's options. */
  readonly interceptors: WorkerInterceptors = {
    activity: [
      () => ({
        inbound: {
          execute: async (input, next) => {
            this.#running += 1;
            try {
              return await raceEndings(next(input), [
                [
                  this.#left.signal,
                  () =>
                    retryLater('WorkerShutdown', 'the worker is shutting down; another attempt follows', {
                      benign: true,
                    }),
                ],
              ]);
            } finally {
              this.#running -= 1;
            }
          },
        },
      }),
    ],
  };

  /** Activities that run now. */
  get running(): number {
    return this.#running;
  }

  leave(): void {
    this.#left.abort();
  }
}
