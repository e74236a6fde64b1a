import type { BaseTool } from '../../src/tools/base-tool.ts';

/** Milliseconds in which a tool must end after its call was cancelled. */
const PATIENCE = 3_000;

/**
 * Tells a running tool that its call is cancelled, beside the abort signal of its context. Semantics: `tool.CancellableTool`
 * and `tool.Context.Task` of kadirpekel/hector.
 */
export class ToolCancellation {
  readonly #tool: BaseTool;
  readonly #callId: string;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #handlers: (() => unknown)[] = [];
  /** A promise for each handler that was called; undefined before the cancellation. */
  #called: Promise<void>[] | undefined;
  #isOver = false;

  /** @param onFailure gets what a handler, or the tool's own `cancel`, has thrown. */
  constructor(tool: BaseTool, callId: string, onFailure: (thrown: unknown) => void) {
    this.#tool = tool;
    this.#callId = callId;
    this.#onFailure = onFailure;
  }

  /** Has it called once when the call is cancelled; at once where it is already. */
  onCancel(handler: () => unknown): void {
    if (this.#called === undefined) this.#handlers.push(handler);
    else this.#called.push(this.#call(handler));
  }

  tell(): void {
    if (this.#isOver || this.#called !== undefined) return;
    const told: Promise<void>[] = [];
    this.#called = told;
    told.push(...this.#handlers.map((handler) => this.#call(handler)));
    if (this.#isSupported()) told.push(this.#call(() => this.#tool.cancel(this.#callId)));
  }

  /** The run is over: later cancellations have no effect. */
  close(): void {
    this.#isOver = true;
  }

  /**
   * Waits for a while until a tool that was told has ended by itself.
   *
   * @returns what it came to, which counts; undefined where it threw, takes too long, or couldn't be told.
   */
  async lastWord<T>(work: Promise<T>): Promise<{ value: T } | undefined> {
    const told = this.#called ?? [];
    if (told.length === 0) return undefined;
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(late.resolve, PATIENCE, undefined);
    let word: { value: T } | undefined;
    const ended = async () => {
      const run = Promise.resolve(work).then((value) => {
        word = { value };
      });
      await Promise.allSettled([run, ...told]);
    };
    try {
      // A handler may hang: the tool's result counts nevertheless.
      await Promise.race([ended(), late.promise]);
      return word;
    } finally {
      clearTimeout(timer);
    }
  }

  #isSupported(): boolean {
    try {
      return this.#tool.supportsCancellation();
    } catch (thrown) {
      this.#onFailure(thrown);
      return false;
    }
  }

  async #call(action: () => unknown): Promise<void> {
    try {
      await action();
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }
}
