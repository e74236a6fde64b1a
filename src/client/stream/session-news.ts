import type { StoreNotice } from '../../store/live/live-feed.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';

/** Milliseconds between looks where nobody tells what another process writes. */
const POLL_INTERVAL = 500;
/** Where the store listens: a notice may be lost. */
const SAFETY_INTERVAL = 5_000;

/**
 * Waits for something new in a session. Made before the store is read, so that nothing slips in between; closed when what
 * was read is given away, so that a reader that never comes back leaves nothing open.
 */
export class SessionNews {
  readonly #news = Promise.withResolvers<void>();
  readonly #interval: () => number;
  readonly #stops: (() => void)[] = [];

  /**
   * @param session the store's id of the session, where it is known.
   * @param names whose turns count too, where the session isn't known or may be made again. Without session and names all
   * that this process writes counts.
   * @param told called where an agent of one of the session's calls has begun.
   */
  constructor(
    store: Pick<Store, 'live'>,
    session: string | undefined,
    names?: SessionNames,
    told: () => void = () => undefined,
  ) {
    const wake = () => this.wake();
    if (session !== undefined) {
      this.#stops.push(
        store.live.watch(session, (notice) => {
          if (notice.type === 'child') told();
          else if (isWritten(notice)) wake();
        }),
      );
    }
    if (names !== undefined) this.#stops.push(store.live.watchTurns(names, wake));
    if (this.#stops.length === 0)
      this.#stops.push(store.live.onNotice((notice) => isWritten(notice) && wake()));
    // A session can be made without a turn.
    this.#interval = () => (session !== undefined && store.live.listens ? SAFETY_INTERVAL : POLL_INTERVAL);
  }

  wake(): void {
    this.#news.resolve();
  }

  /** Resolves with the news, after half a second (five where the store hears of all that happens), or on the signal. */
  async wait(signal?: AbortSignal): Promise<void> {
    const timer = setTimeout(() => this.wake(), this.#interval());
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
    for (const stop of this.#stops) stop();
  }
}

/** Text and chunks come twenty times a second, and are in no store. */
function isWritten({ type }: StoreNotice): boolean {
  return type === 'appended' || type === 'call started' || type === 'call finished';
}
