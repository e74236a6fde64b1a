import type { StoreNotice } from '../../store/live/live-feed.ts';
import { contentBytes } from '../../store/live/notice-payload.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { FollowerTooSlow } from '../client-errors.ts';
import type { LiveItem } from './stream-item.ts';

/**
 * Items that a reader may leave unread: more than a minute of the fastest model's text, and little beside the memory of its
 * connection. A slower reader is cut off.
 */
const MOST_BYTES = 256 * 1024;
const MOST_ITEMS = 2_000;

/** Other processes may write unheard. Where they are heard a notice may still be lost. Milliseconds. */
const POLL_INTERVAL = 500;
const POLL_INTERVAL_OF_LISTENERS = 5_000;

/** That a child has begun is for who follows the tree. */
type HeardNotice = Exclude<StoreNotice, { type: 'child' }>;
type LiveNotice = Exclude<HeardNotice, { type: 'appended' }>;

/** An item, or the news that there are events up to a seq. */
export type Arrival = { item: LiveItem } | { seq: number };

interface Waiting {
  notice: HeardNotice;
  bytes: number;
}

/**
 * Items of a follower, in order, until it takes them. As long as the session isn't there, everything that this process does
 * is heard, so that nothing of the session's beginning is missed.
 */
export class LiveItems {
  readonly #store: Store;
  #stop: () => void;
  readonly #stopTurns: () => void;
  #session: string | undefined;
  #wanted: (notice: LiveNotice) => boolean;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #isCutOff = false;
  #lookAt = 0;
  #wake: () => void = () => undefined;
  /** Called where an agent of one of the session's calls has begun. */
  onChild: () => void = () => undefined;

  constructor(store: Store, names: SessionNames) {
    this.#store = store;
    this.#wanted = () => true;
    this.#stop = store.live.onNotice((notice) => this.#hear(notice));
    this.#stopTurns = store.live.watchTurns(names, () => this.lookAgain());
  }

  /** Without what is of others. */
  narrow(isWanted: (item: Pick<LiveItem, 'runKey'>) => boolean): void {
    this.#wanted = isWanted;
    this.#keep(({ notice }) => notice.type === 'appended' || this.#wanted(notice));
  }

  /** Hears of this session only, from now on, and keeps what was heard of it. */
  follow(session: string): void {
    if (session === this.#session) return;
    // While another one was heard, nothing was of this one, which may have gone on since it was looked at.
    if (this.#session !== undefined) this.#lookAt = 0;
    this.#stop();
    this.#session = session;
    this.#stop = this.#store.live.watch(session, (notice) => this.#hear(notice));
    this.#keep(({ notice }) => notice.session === session);
  }

  /** Whether the store should be looked at, also without news. */
  get isLookDue(): boolean {
    return performance.now() >= this.#lookAt;
  }

  /**
   * Called when a look at the store begins. The returned function is called if there was no such session: what had come
   * before belongs to others.
   */
  looking(): () => void {
    // A session can be made without a turn, which nobody tells.
    const isTold = this.#session !== undefined && this.#store.live.listens;
    const interval = isTold ? POLL_INTERVAL_OF_LISTENERS : POLL_INTERVAL;
    // All followers look in the same moments, since one read is enough for all of a session.
    this.#lookAt = (Math.floor(performance.now() / interval) + 1) * interval;
    const before = new Set(this.#waiting);
    return () => this.#keep((waiting) => !before.has(waiting));
  }

  /** @throws FollowerTooSlow naming `last`, the seq that the reader was given last. */
  take(last: number): Arrival | undefined {
    if (this.#isCutOff) throw new FollowerTooSlow(last);
    if (this.#session === undefined) return undefined;
    const next = this.#waiting.shift();
    if (next === undefined) return undefined;
    this.#bytes -= next.bytes;
    const { session: _session, ...item } = next.notice;
    return item.type === 'appended' ? { seq: item.seq } : { item };
  }

  /** Whether such an item waits to be taken. */
  has(isSuch: (item: LiveItem) => boolean): boolean {
    return this.#waiting.some(({ notice }) => notice.type !== 'appended' && isSuch(notice));
  }

  /** The store should be looked at now. */
  lookAgain(): void {
    this.#lookAt = 0;
    this.#wake();
  }

  /** Until something comes, a look at the store is due, or the signal is aborted. */
  async wait(signal: AbortSignal | undefined): Promise<void> {
    const hasCome = this.#isCutOff || (this.#session !== undefined && this.#waiting.length > 0);
    if (hasCome || this.isLookDue || signal?.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, Math.ceil(this.#lookAt - performance.now()));
    const onAbort = () => resolve();
    signal?.addEventListener('abort', onAbort, { once: true });
    await promise;
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }

  close(): void {
    this.#stop();
    this.#stopTurns();
    this.#waiting = [];
  }

  #hear(notice: StoreNotice): void {
    if (this.#isCutOff) return;
    if (notice.type === 'child') {
      this.onChild();
      return;
    }
    if (notice.type === 'appended') this.#hearAppended(notice);
    else if (this.#wanted(notice)) this.#push(notice, contentBytes(notice));
    if (this.#waiting.length > MOST_ITEMS || this.#bytes > MOST_BYTES) this.#overflow();
    if (this.#session !== undefined) this.#wake();
  }

  #hearAppended(notice: Extract<HeardNotice, { type: 'appended' }>): void {
    const last = this.#waiting.at(-1)?.notice;
    if (last?.type !== 'appended' || last.session !== notice.session) this.#push(notice, 0);
    else if (notice.seq > last.seq) this.#waiting.splice(-1, 1, { notice, bytes: 0 });
  }

  #push(notice: HeardNotice, bytes: number): void {
    this.#waiting.push({ notice, bytes });
    this.#bytes += bytes;
  }

  #overflow(): void {
    const isOthers = this.#session === undefined;
    this.#keep(() => false);
    if (isOthers) return;
    this.#isCutOff = true;
    this.#stop();
    this.#stopTurns();
  }

  #keep(isKept: (waiting: Waiting) => boolean): void {
    this.#waiting = this.#waiting.filter(isKept);
    this.#bytes = this.#waiting.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
