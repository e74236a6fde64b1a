import type { DeadLetter } from '../../contract/notices.ts';
import type { DeliverNotice } from '../../protocol/gate.ts';

/** Names a note: its notifier and its request. */
export interface NoteName {
  notifier: string;
  requestId: string;
}

export interface NewNote extends NoteName {
  /** The store's internal id. */
  session: string;
  /** JSON. */
  value: unknown;
  /** Unique within the notifier; as before where it is left out. */
  place?: string;
}

/** A notice that nobody tries to tell any more. */
export interface DeadNotice extends DeadLetter {
  session: string;
  /** How it is told again. */
  input: DeliverNotice;
}

/** Where one stands in the list. */
export type DeadNoticePlace = Pick<DeadNotice, 'diedAt' | 'noticeId'>;

export interface ListDeadNotices {
  app?: string;
  /** Defaults to 100. */
  limit?: number;
  /** The last one of the page before, as it was then: it may be gone by now, or have died again. */
  after?: DeadNoticePlace;
}

/** Notes of notifiers about requests, and their undelivered notifications. */
export interface NoticeStore {
  /** Undefined where nothing is kept. */
  noteOf(name: NoteName): Promise<unknown>;
  /** @returns false where another request's note has the place, or there is no such session. */
  saveNote(note: NewNote): Promise<boolean>;
  /** By its place. */
  findNote(
    notifier: string,
    place: string,
  ): Promise<{ session: string; requestId: string; value: unknown } | undefined>;
  /**
   * Somebody is about to be told of a request that waits.
   *
   * @param time milliseconds, after which nobody is told any more.
   * @returns false where they were told of its end, or are about to be.
   */
  beginNotifying(name: NoteName & { session: string; time: number }): Promise<boolean>;
  /** They were told, or were not. */
  endNotifying(name: NoteName): Promise<void>;
  /**
   * They are about to be told of its end: of the request itself nobody is told from now on.
   *
   * @returns false where they are just being told of the request.
   */
  beginNotifyingEnd(name: NoteName & { session: string }): Promise<boolean>;
  /** In the place of the one of this id. */
  addDeadNotice(notice: Omit<DeadNotice, 'diedAt'>): Promise<void>;
  /** Oldest first. */
  listDeadNotices(list?: ListDeadNotices): Promise<DeadNotice[]>;
  findDeadNotice(noticeId: string): Promise<DeadNotice | undefined>;
  /** Those whose ids end so, two at most: who names one by the end of its id means no more than one. */
  deadNoticesNamed(end: string): Promise<DeadNotice[]>;
  /** Whether there was one. */
  dropDeadNotice(notice: Pick<DeadNotice, 'noticeId' | 'diedAt'>): Promise<boolean>;
}
