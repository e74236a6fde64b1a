import type { RunningWorker } from '../../worker/environment/running-worker.ts';

/** One worker after another: orders wait for those before them. */
export class RestartedWorker {
  readonly #start: () => Promise<Pick<RunningWorker, 'close'>>;
  #current: Pick<RunningWorker, 'close'> | undefined;
  #orders: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(start: () => Promise<Pick<RunningWorker, 'close'>>) {
    this.#start = start;
  }

  /** Stops the worker that runs, if any, and starts another one. */
  restart(): Promise<void> {
    return this.#order(async () => {
      if (this.#closed) throw new Error('the test environment is closed: open another one');
      await this.#stop();
      this.#current = await this.#start();
    });
  }

  stop(): Promise<void> {
    return this.#order(() => this.#stop());
  }

  close(): Promise<void> {
    this.#closed = true;
    return this.stop();
  }

  #order(run: () => Promise<void>): Promise<void> {
    const done = this.#orders.then(run);
    this.#orders = done.catch(() => undefined);
    return done;
  }

  async #stop(): Promise<void> {
    const worker = this.#current;
    this.#current = undefined;
    await worker?.close();
  }
}
