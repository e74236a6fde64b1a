import type { JobNews } from '../jobs/job-row.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { LiveFeed, StoreNotice } from './live-feed.ts';
import { type Topic, topicText } from './live-feed.ts';
import { contentBytes, MOST_TEXT_BYTES, tellableText } from './notice-payload.ts';

/** The way to the other processes of a store, and from them. */
export interface NoticeExchange {
  send(topic: Topic, notice: StoreNotice): void;
  /** From now on what others send to the topic is heard, until the returned function is called. */
  follow(topic: Topic): () => void;
  /** Whether what others send is heard at the moment. */
  readonly listens: boolean;
  close(): Promise<void>;
}

type Listener<T> = (value: T) => void;

/** Tells followers, in this process and through the exchange in others, what was written and what is written. */
export class LiveNotices implements LiveFeed {
  readonly #all = new Set<Listener<StoreNotice>>();
  readonly #followers = new Map<string, Set<Listener<StoreNotice>>>();
  readonly #waiters = new Map<string, Set<Listener<void>>>();
  readonly #isOwner: boolean;
  #exchange: NoticeExchange | undefined;

  /** @param options `isOwner`: other processes of the embedded store forward their notices to `hear`. */
  constructor({ isOwner = false }: { isOwner?: boolean } = {}) {
    this.#isOwner = isOwner;
  }

  /** @param exchange gives what it hears to `heard` and `turnBegun`. */
  connect(exchange: NoticeExchange): void {
    this.#exchange = exchange;
  }

  get exchange(): NoticeExchange | undefined {
    return this.#exchange;
  }

  get listens(): boolean {
    return this.#isOwner || (this.#exchange?.listens ?? false);
  }

  onNotice(listener: Listener<StoreNotice>): () => void {
    return added(this.#all, listener);
  }

  watch(session: string, listener: Listener<StoreNotice>): () => void {
    return this.#follow(this.#followers, { session }, listener);
  }

  watchTurns(names: SessionNames, listener: () => void): () => void {
    return this.#follow(this.#waiters, { names }, listener);
  }

  tell(notice: StoreNotice): void {
    const told = tellable(notice);
    if (told === undefined) return;
    this.hear(told);
    const names = namesIn(told);
    this.#exchange?.send({ session: told.session }, told);
    if (names !== undefined) this.#exchange?.send({ names }, told);
  }

  tellJobs(session: string, news: readonly JobNews[]): void {
    for (const { runKey, callKey, tool, jobId, status, mode, progress } of news) {
      const job = { runKey, callKey, tool, jobId, status, mode, ...(progress ? { progress } : {}) };
      this.tell({ type: 'job', session, ...job });
    }
  }

  /**
   * Tells the listeners of this process only: a process that has joined an embedded store sends what its `onNotice` says to
   * the owner, whose followers hear of it in this way. One direction only: `onNotice` says it again.
   */
  hear(notice: StoreNotice): void {
    give(this.#all, notice);
    this.heard(notice);
    const names = namesIn(notice);
    if (names !== undefined) this.turnBegun(names);
  }

  /** Tells the followers of the notice's session, and nobody else. */
  heard(notice: StoreNotice): void {
    give(this.#followers.get(notice.session), notice);
  }

  turnBegun(names: SessionNames): void {
    give(this.#waiters.get(topicText({ names })), undefined);
  }

  #follow<T>(all: Map<string, Set<Listener<T>>>, topic: Topic, listener: Listener<T>): () => void {
    const key = topicText(topic);
    const own = all.get(key) ?? new Set();
    all.set(key, own);
    const leave = added(own, listener);
    const unfollow = this.#exchange?.follow(topic);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      leave();
      if (own.size === 0) all.delete(key);
      unfollow?.();
    };
  }
}

function added<T>(listeners: Set<Listener<T>>, listener: Listener<T>): () => void {
  // One that is added twice is told twice.
  const own: Listener<T> = (value) => listener(value);
  listeners.add(own);
  return () => {
    listeners.delete(own);
  };
}

/** A listener that throws must not fail the write that it hears of, nor end the process: that gets a warning. */
function give<T>(listeners: Iterable<Listener<T>> | undefined, value: T): void {
  for (const listener of listeners ?? []) {
    queueMicrotask(() => {
      try {
        listener(value);
      } catch (error) {
        process.emitWarning(error instanceof Error ? error : `a listener of the store has thrown ${error}`);
      }
    });
  }
}

function namesIn(notice: StoreNotice): SessionNames | undefined {
  return notice.type === 'appended' ? notice.names : undefined;
}

/** All followers get the same text, wherever they are; none gets what the farthest couldn't. */
function tellable(notice: StoreNotice): StoreNotice | undefined {
  const told = notice.type === 'text' ? { ...notice, text: tellableText(notice.text) } : notice;
  return contentBytes(told) > MOST_TEXT_BYTES ? undefined : told;
}
