/**
 * Order of what was sent before a run began: it is handed over handler by handler, signals and updates apart. Signals came first:
 * an update counts from when a worker has taken it.
 */
export class FirstOrder {
  #waiting: (() => void)[] | undefined = [];

  /** Handles a signal, behind those that came before it. */
  signalled(handle: () => void): void {
    if (this.#waiting === undefined) handle();
    else this.#waiting.push(handle);
  }

  /** An update is about to be handled. */
  updated(): void {
    this.#handle(this.#waiting?.splice(0) ?? []);
  }

  /** All that came before the run has been handed over. */
  open(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#handle(waiting);
  }

  #handle(waiting: readonly (() => void)[]): void {
    for (const handle of waiting) handle();
  }
}
