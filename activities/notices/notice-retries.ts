import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import { LONGEST_NOTICE_TIME } from '../../src/protocol/notice-limits.ts';

/** Milliseconds for which a notice is tried where its notifier doesn't say. */
export const DEFAULT_RETRY_TIME = 3 * 86_400_000;

const FIRST_DELAY = 1_000;
const LONGEST_DELAY = 60 * 60_000;

/** Of a delay, by which it is longer at random: those that have failed together are not tried together. */
const JITTER = 0.2;
const LONGEST_JITTER = 10 * 60_000;

/**
 * Milliseconds until the next attempt: twice as long after each, an hour at most, and some more; not earlier than whoever was to be
 * told wants.
 *
 * @param attempt those so far, from 1.
 */
export function delayOf(attempt: number, error: unknown): number {
  const backOff = Math.min(FIRST_DELAY * 2 ** Math.min(attempt - 1, 30), LONGEST_DELAY);
  const wanted = error instanceof NoticeFailed ? (error.retryAfter ?? 0) : 0;
  const delay = Math.max(backOff, Math.min(wanted, LONGEST_NOTICE_TIME));
  return Math.ceil(delay + Math.random() * Math.min(delay * JITTER, LONGEST_JITTER));
}
