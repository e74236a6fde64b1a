import type { DurableOptions } from '../../src/tools/durable-options.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { beating } from './beating.ts';

/** A tool whose calls wait until a test lets them go. */
export class HeldTool {
  readonly name: string;
  #released = Promise.withResolvers<void>();
  #aborted = Promise.withResolvers<void>();
  #begun: { count: number; reached: () => void }[] = [];
  #calls = 0;

  constructor(name = 'hold') {
    this.name = name;
  }

  /** Of each environment a new one. */
  tool(options: DurableOptions = {}) {
    return tool({
      ...options,
      name: this.name,
      description: 'waits until it is released',
      execute: async (_args, context) => {
        this.#calls += 1;
        for (const { count, reached } of this.#begun) if (this.#calls >= count) reached();
        const aborted = new Promise<never>((_resolve, reject) =>
          context.abortSignal?.addEventListener('abort', () => {
            this.#aborted.resolve();
            reject(new Error('aborted'));
          }),
        );
        await beating(context, Promise.race([this.#released.promise, aborted]));
        return { held: true };
      },
    });
  }

  /** Resolves when so many calls have begun since the last {@link hold}. */
  begun(count = 1): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#calls >= count) resolve();
    else this.#begun.push({ count, reached: resolve });
    return promise;
  }

  /** Resolves when a call was told to end, since the last {@link hold}. */
  aborted(): Promise<void> {
    return this.#aborted.promise;
  }

  release(): void {
    this.#released.resolve();
  }

  /** Holds calls again. */
  hold(): void {
    this.#released = Promise.withResolvers();
    this.#aborted = Promise.withResolvers();
    this.#begun = [];
    this.#calls = 0;
  }
}
