/** The streams that a gateway is sending, so that it can end them when it closes. */
export class OpenStreams {
  readonly #closing = new AbortController();
  #open = 0;

  /** How many there are. */
  get size(): number {
    return this.#open;
  }

  /** Aborted when the gateway closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Counts a stream until the returned function is called. */
  add(): () => void {
    this.#open += 1;
    let isOpen = true;
    return () => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
    };
  }

  end(): void {
    this.#closing.abort();
  }
}
