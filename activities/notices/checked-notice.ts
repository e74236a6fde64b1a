import { take } from '../../src/contract/check.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import { DELIVERED_NOTICE, NOTICE } from '../../src/contract/notices.ts';
import { checkOf } from '../../src/contract/operation.ts';
import type { DeliverNotice, NotifyInput } from '../../src/protocol/gate.ts';
import { LONGEST_NOTICE_TIME } from '../../src/protocol/sizes.ts';

/** @throws HOLDFAST_NOT_A_NOTICE naming the field. */
export function checkedNotice(input: NotifyInput): NotifyInput {
  return checked<NotifyInput>(NOTICE, input);
}

/**
 * A notice of a single notifier.
 *
 * @returns it, with times that are no longer than a notice is tried.
 * @throws HOLDFAST_NOT_A_NOTICE naming the field.
 */
export function checkedDelivery(
  input: DeliverNotice,
  scheduledAt: number,
): DeliverNotice & { notifier: string; failedAt: number } {
  const notice = checked<DeliverNotice & { notifier: string }>(DELIVERED_NOTICE, input);
  return {
    ...notice,
    since: noticeTime(notice.since, scheduledAt),
    failedAt: noticeTime(notice.failedAt, scheduledAt),
    retryFor: Math.min(notice.retryFor, LONGEST_NOTICE_TIME),
  };
}

/** A time of a notice: nothing is older than one is tried, or of the time to come. */
export function noticeTime(since: number | undefined, scheduledAt: number): number {
  if (since === undefined) return scheduledAt;
  return Math.min(Math.max(since, scheduledAt - LONGEST_NOTICE_TIME), scheduledAt);
}

/** Every program with Temporal access can ask for anything. */
function checked<Notice>(schema: typeof NOTICE | typeof DELIVERED_NOTICE, input: unknown): Notice {
  const { value, problem } = take<Notice>(checkOf(schema), input);
  if (problem === undefined) return value;
  throw new HoldfastError('HOLDFAST_NOT_A_NOTICE', `${problem.field || 'arguments'}: ${problem.problem}`);
}
