/** Ends of what was opened; the last opened ends first. */
export class Closing {
  readonly #ends: (() => unknown)[] = [];

  add(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Ends all, also where one fails; calling it again does nothing. @throws the first failure */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const end of this.#ends.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
