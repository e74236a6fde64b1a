import { tool } from '../../src/tools/function-tool.ts';

/** A tool that runs until it is told to end. */
export class Held {
  started = 0;
  aborted = 0;
  #letGo = Promise.withResolvers<void>();
  readonly tool = tool({
    name: 'hold',
    description: 'd',
    execute: async (_args, { abortSignal }) => {
      this.started += 1;
      const aborted = new Promise<'aborted'>((resolve) =>
        abortSignal.addEventListener('abort', () => resolve('aborted')),
      );
      const { promise } = this.#letGo;
      if ((await Promise.race([aborted, promise])) !== 'aborted') return { held: true };
      this.aborted += 1;
      throw new Error('let go');
    },
  });

  letGo(): void {
    this.#letGo.resolve();
  }

  /** What begins from now on. */
  holdAgain(): void {
    this.#letGo = Promise.withResolvers<void>();
  }
}
