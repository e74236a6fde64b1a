type End = () => Promise<unknown> | unknown;

/** Opened resources: the last one opened is closed first, each also where others fail. */
export class Closing {
  readonly #ends: End[] = [];
  #closing: Promise<void> | undefined;

  add(...ends: End[]): void {
    this.#ends.push(...ends);
  }

  /** Adds a resource that is still being opened beside another one that may fail meanwhile. */
  async of<T>(opening: Promise<T>, end: (opened: T) => Promise<unknown> | unknown): Promise<T> {
    const opened = await opening;
    this.add(() => end(opened));
    return opened;
  }

  assertOpen(): void {
    if (this.#closing !== undefined) throw new Error('the test environment is closed: open another one');
  }

  /** @throws the first failure. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const failures: unknown[] = [];
    for (const end of this.#ends.reverse()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
