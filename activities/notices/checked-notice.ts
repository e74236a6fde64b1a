import { HoldfastError } from '../../src/contract/error.ts';
import type { DeliverNotice, NotifyInput } from '../../src/protocol/gate.ts';
import { LONGEST_NOTICE_TIME, MOST_NOTICE_REQUESTS } from '../../src/protocol/sizes.ts';
import { kindOf } from '../../src/schema/kind-of.ts';

const NAMES = ['app', 'userId', 'sessionId', 'session', 'workflowId'] as const;
const WHYS: readonly unknown[] = ['opened', 'escalated', 'ended'] satisfies NotifyInput['why'][];

/** @throws HOLDFAST_NOT_A_NOTICE naming the field. */
export function checkNotice(input: NotifyInput): void {
  for (const name of NAMES) {
    if (typeof input[name] !== 'string') throw notANotice(name, `expected text, got ${kindOf(input[name])}`);
  }
  if (!WHYS.includes(input.why)) throw notANotice('why', `expected one of ${WHYS.join(', ')}`);
  const { requestIds } = input;
  if (!Array.isArray(requestIds) || !requestIds.every((id) => typeof id === 'string')) {
    throw notANotice('requestIds', 'expected a list of texts');
  }
  if (requestIds.length > MOST_NOTICE_REQUESTS) {
    throw notANotice('requestIds', `expected at most ${MOST_NOTICE_REQUESTS}, got ${requestIds.length}`);
  }
}

/**
 * One that a single notifier goes on being told of: it is about one request, by which it is told, and given up, alone.
 *
 * @returns it, with times that are no longer than a notice is tried.
 * @throws HOLDFAST_NOT_A_NOTICE naming the field.
 */
export function checkedDelivery(
  input: DeliverNotice,
  scheduledAt: number,
): DeliverNotice & { notifier: string; failedAt: number } {
  checkNotice(input);
  const { notifier, requestIds, since, failedAt, retryFor } = input;
  if (typeof notifier !== 'string') throw notANotice('notifier', `expected text, got ${kindOf(notifier)}`);
  if (requestIds.length !== 1) {
    throw notANotice('requestIds', `expected one for a single notifier, got ${requestIds.length}`);
  }
  return {
    ...input,
    notifier,
    since: noticeTime(since, scheduledAt),
    failedAt: noticeTime(failedAt, scheduledAt),
    retryFor: Math.min(timeOf('retryFor', retryFor), LONGEST_NOTICE_TIME),
  };
}

/** A time of a notice: nothing is older than one is tried, or of the time to come. */
export function noticeTime(since: number | undefined, scheduledAt: number): number {
  if (since === undefined) return scheduledAt;
  return Math.min(Math.max(timeOf('since', since), scheduledAt - LONGEST_NOTICE_TIME), scheduledAt);
}

function timeOf(field: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
  throw notANotice(field, 'expected milliseconds');
}

/** The input is no notice of Holdfast's own: every program with Temporal access can ask for anything. */
function notANotice(field: string, problem: string): HoldfastError {
  return new HoldfastError('HOLDFAST_NOT_A_NOTICE', `${field}: ${problem}`);
}
