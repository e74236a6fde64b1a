import type { Store } from '../store/store.ts';

/** Another process may write where the store is shared; its notices don't reach this one. Milliseconds. */
const POLL_INTERVAL = 500;

/**
 * Waits for something new in a session. Made before the store is read, so that nothing slips in between; closed when what
 * was read is given away, so that a reader who never comes back leaves nothing behind.
 */
export class SessionNews {
  readonly #news = Promise.withResolvers<void>();
  readonly #stop: () => void;

  /** @param session the store's id of the session; without it every session's news count. */
  constructor(store: Pick<Store, 'onNotice'>, session: string | undefined) {
    this.#stop = store.onNotice((notice) => {
      if (session === undefined || notice.session === session) this.wake();
    });
  }

  wake(): void {
    this.#news.resolve();
  }

  /** Resolves with the news, after half a second, or on the signal. */
  async wait(signal?: AbortSignal): Promise<void> {
    const timer = setTimeout(() => this.wake(), POLL_INTERVAL);
    const wake = () => this.wake();
    if (signal?.aborted) this.wake();
    signal?.addEventListener('abort', wake, { once: true });
    try {
      await this.#news.promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', wake);
    }
  }

  close(): void {
    this.#stop();
  }
}
