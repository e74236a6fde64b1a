import { codedError } from '../contract/error.ts';

/** Longest message that is kept of a notice, characters. */
const LONGEST_MESSAGE = 500;

/** A notification failed. Operators read the message, which has no secrets and no addresses with them. */
export class NoticeFailed extends codedError('HOLDFAST_NOTICE_FAILED') {
  /** Milliseconds until it may be tried again; undefined where nobody has said so. */
  readonly retryAfter: number | undefined;
  /** Whether it is in vain to try again. */
  readonly final: boolean;

  /**
   * @param options `retryAfter` in milliseconds, as the receiver names it; `final`: it is not tried again, but kept among
   *   `holdfast notices` at once. Both are left out by default.
   * @example throw new NoticeFailed('the pager answers 429', { retryAfter: 30_000 });
   */
  constructor(message: string, options: { retryAfter?: number; final?: boolean } & ErrorOptions = {}) {
    super(message.slice(0, LONGEST_MESSAGE).toWellFormed(), options);
    this.retryAfter = options.retryAfter;
    this.final = options.final ?? false;
  }
}

/** A note that a notifier wants to keep doesn't fit. */
export class NoteRefused extends codedError('HOLDFAST_NOTE_REFUSED') {}
