import type { StoreNotice } from './live-feed.ts';
import { type Topic, topicText } from './live-feed.ts';
import { contentBytes } from './notice-payload.ts';

/** Milliseconds between two statements: at most 20 a second. */
const INTERVAL = 50;
const PAUSE_AFTER_FAILURE = 1_000;
const LONGEST_CLOSE = 1_000;
/** Bytes of what waits to be sent. */
const MOST_WAITING = 8 * 1024 * 1024;
const COST_OF_A_NOTICE = 256;

export interface OutgoingNotice {
  topic: Topic;
  notice: StoreNotice;
}

/**
 * Sends notices in the order in which they came, the first at once, those that come meanwhile together. A notice that can't be
 * sent is lost: it is a hint, and the write that it tells of is long since done.
 */
export class NoticeOutbox {
  readonly #send: (notices: readonly OutgoingNotice[]) => Promise<unknown>;
  /** By topic for what is appended, of which only the last counts; all else by a number of its own. */
  #waiting = new Map<string | number, OutgoingNotice>();
  #size = 0;
  #count = 0;
  #next = 0;
  #sending: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(send: (notices: readonly OutgoingNotice[]) => Promise<unknown>) {
    this.#send = send;
  }

  add(topic: Topic, notice: StoreNotice): void {
    if (this.#closed) return;
    if (notice.type === 'appended') {
      this.#addAppended(topic, notice);
    } else {
      this.#count += 1;
      this.#put(this.#count, { topic, notice });
    }
    this.#schedule();
  }

  /** Sends what waits, for a second at most. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancel?.();
    const last = async () => {
      await this.#sending;
      if (this.#waiting.size > 0) await this.#sendWaiting();
    };
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, LONGEST_CLOSE);
    await Promise.race([last(), late.promise]);
    clearTimeout(timer);
  }

  /** The highest seq is announced in the place of the last. */
  #addAppended(topic: Topic, notice: Extract<StoreNotice, { type: 'appended' }>): void {
    const key = topicText(topic);
    const before = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (before !== undefined) this.#size -= costOf(before);
    const seq = before?.notice.type === 'appended' ? Math.max(before.notice.seq, notice.seq) : notice.seq;
    this.#put(key, { topic, notice: { ...notice, seq } });
  }

  #put(key: string | number, outgoing: OutgoingNotice): void {
    const cost = costOf(outgoing);
    if (this.#size + cost > MOST_WAITING) return;
    this.#waiting.set(key, outgoing);
    this.#size += cost;
  }

  #schedule(): void {
    if (this.#closed || this.#sending || this.#cancel || this.#waiting.size === 0) return;
    const delay = this.#next - performance.now();
    const send = () => {
      this.#cancel = undefined;
      this.#sending = this.#sendWaiting().finally(() => {
        this.#sending = undefined;
        this.#schedule();
      });
    };
    if (delay > 0) {
      const timer = setTimeout(send, delay);
      this.#cancel = () => clearTimeout(timer);
    } else {
      const immediate = setImmediate(send);
      this.#cancel = () => clearImmediate(immediate);
    }
  }

  async #sendWaiting(): Promise<void> {
    const notices = [...this.#waiting.values()];
    this.#waiting = new Map();
    this.#size = 0;
    this.#next = performance.now() + INTERVAL;
    try {
      await this.#send(notices);
    } catch {
      // The database is away or busy; the writes themselves say so to those who wait for them.
      this.#next = performance.now() + PAUSE_AFTER_FAILURE;
    }
  }
}

function costOf({ notice }: OutgoingNotice): number {
  return COST_OF_A_NOTICE + contentBytes(notice);
}
