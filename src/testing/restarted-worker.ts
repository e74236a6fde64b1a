import type { Worker } from '@temporalio/worker';
import { type GeminiVariables, withGeminiVariables } from '../models/gemini-exchange.ts';

/** One worker after another: orders wait for those before them. */
export class RestartedWorker {
  readonly #gemini: GeminiVariables;
  readonly #create: () => Promise<Worker>;
  #current: { worker: Worker; ended: Promise<void> } | undefined;
  #orders: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** @param gemini where its models find Gemini. */
  constructor(gemini: GeminiVariables, create: () => Promise<Worker>) {
    this.#gemini = gemini;
    this.#create = create;
  }

  /** Stops the worker that runs, if any, and starts another one. */
  restart(): Promise<void> {
    return this.#order(async () => {
      if (this.#closed) throw new Error('the test environment is closed: open another one');
      await this.#stop();
      const worker = await this.#create();
      this.#current = { worker, ended: withGeminiVariables(this.#gemini, () => worker.run()) };
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
    const { worker, ended } = this.#current ?? {};
    this.#current = undefined;
    if (worker?.getState() === 'RUNNING') worker.shutdown();
    await ended;
  }
}
