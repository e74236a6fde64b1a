/** Models whose providers have refused a request because there were too many, as far as this worker knows. */
export class RateLimitedModels {
  /** By limit key, on the clock of `performance.now()`, which nobody sets. */
  readonly #until = new Map<string, number>();

  /** Milliseconds until a model may be asked; 0 where it may be by now. */
  waitOf(key: string): number {
    return Math.max(0, (this.#until.get(key) ?? 0) - performance.now());
  }

  /** @param limits milliseconds from now on, by limit key. */
  learn(limits: Readonly<Record<string, number>> = {}): void {
    const now = performance.now();
    for (const [key, wait] of Object.entries(limits)) {
      this.#until.set(key, Math.max(this.#until.get(key) ?? 0, now + wait));
    }
  }

  /** A model has answered. Whether it is the first answer after a limit, which is then forgotten. */
  answered(key: string): boolean {
    return this.#until.has(key) && this.waitOf(key) === 0 && this.#until.delete(key);
  }
}
