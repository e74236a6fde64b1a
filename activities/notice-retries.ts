import { NoticeFailed } from '../src/approvals/notice-failed.ts';

/** Milliseconds for which a notice is tried where its notifier doesn't say. */
export const DEFAULT_RETRY_TIME = 3 * 86_400_000;

const FIRST_DELAY = 1_000;
const LONGEST_DELAY = 60 * 60_000;

/**
 * Milliseconds until the next attempt: twice as long after each, an hour at most; not earlier than whoever was to be told wants.
 *
 * @param attempt those so far, from 1.
 */
export function delayOf(attempt: number, error: unknown): number {
  const backOff = Math.min(FIRST_DELAY * 2 ** Math.min(attempt - 1, 30), LONGEST_DELAY);
  const wanted = error instanceof NoticeFailed ? (error.retryAfter ?? 0) : 0;
  return Math.max(backOff, Math.min(wanted, LONGEST_DELAY));
}
