import { setImmediate } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import { hasCode } from '../../src/contract/error.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { DeliveredNotice, DeliverNotice } from '../../src/protocol/gate.ts';
import { isRecord } from '../../src/protocol/json.ts';
import { LONGEST_NOTICE_TIME } from '../../src/protocol/sizes.ts';
import { StoreError } from '../../src/store/store-errors.ts';
import { type Attempt, retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { callNotifier, rowsOf } from './call-notifier.ts';
import { checkedDelivery } from './checked-notice.ts';
import { delayOf, keepDeadLetter, problemOf } from './notice-failure.ts';

/** The state after earlier attempts, in the heartbeat's details, which Temporal gives to the next attempt. */
interface Asked {
  /** When its time began: an outage of the store before its first attempt takes nothing of it. */
  from: number;
  /** How often the notifier has failed. */
  failures: number;
  /** The time was over when this attempt began: none follows it, also where its worker was lost. */
  last?: true;
}

/**
 * `holdfast.deliverNotice`: tells one notifier of one request, again and again until its time is over; then the notice is kept as
 * dead. An outage of the store is no failure of the notifier: the activity waits for the store as long as it takes. The notifier's
 * time begins when it has been asked and has failed. From then on it also runs while the store is away.
 */
export async function deliverNotice(
  dependencies: ActivityDependencies,
  given: DeliverNotice,
  current: Attempt,
): Promise<DeliveredNotice> {
  const v = PROTOCOL_VERSION;
  const { attempt: attempts, scheduledTimestampMs } = activityInfo();
  const input = checkedDelivery(given, scheduledTimestampMs);
  const { before, wasLast } = askedBefore();
  const isLast = before !== undefined && timeLeft(before, input) <= 0;
  // A heartbeat replaces the details of the one before, so that it repeats the names of earlier attempts.
  if (before !== undefined) current.heartbeat(isLast ? { ...before, last: true } : before);
  let asked = before;
  let hasRead = false;
  const begun = () => asked ?? { from: attempts === 1 ? input.failedAt : scheduledNow(), failures: 0 };
  try {
    const rows = await rowsOf(dependencies, input);
    const isWanted = rows.some(({ status }) => input.why === 'ended' || status === 'pending');
    if (!isWanted) return { v, status: 'unwanted' };
    const { notifiers } = settingsOf(dependencies.deployment, input.app);
    hasRead = true;
    const notifier = notifiers.find(({ name }) => name === input.notifier);
    if (isLast && wasLast)
      throw new NoticeFailed('the last attempt was lost with its worker', { final: true });
    if (notifier === undefined) throw new NoticeFailed('this worker has no notifier of this name');
    const asking = async () => {
      if (asked !== undefined) return;
      asked = begun();
      current.heartbeat(asked);
      // It is sent before a notifier can take the worker with it, or keep it busy.
      await setImmediate();
    };
    await callNotifier(dependencies, notifier, { input, rows, since: input.since, asking }, current);
    return { v, status: 'told' };
  } catch (error) {
    if (current.signal.aborted) {
      current.heartbeat(asked);
      throw current.aborted();
    }
    if (!hasRead || isNoFailure(error, input)) {
      current.heartbeat(before);
      if (!hasCode(error, 'HOLDFAST_NOTICE_NOT_RECORDED')) throw error;
      // It may be long, or for ever: whose turn was terminated has nobody who records it.
      throw retryLater(error.code, error.message, { delay: delayOf(attempts, error) });
    }
    const { from, failures } = begun();
    const now: Asked = { from, failures: failures + 1 };
    current.heartbeat(now);
    return await failed(dependencies, input, now, error);
  }
}

/** An error that is no failure of the notifier: the notice has not reached it yet. */
function isNoFailure(error: unknown, { failedAt }: { failedAt: number }): boolean {
  if (hasCode(error, 'HOLDFAST_NOTIFIER_BUSY') || (error instanceof StoreError && error.retryable))
    return true;
  // A terminated turn never records an end.
  return hasCode(error, 'HOLDFAST_NOTICE_NOT_RECORDED') && scheduledNow() < failedAt + LONGEST_NOTICE_TIME;
}

function timeLeft({ from }: Asked, { retryFor }: DeliverNotice): number {
  return from + retryFor - scheduledNow();
}

/** By Temporal's clock, when this attempt was due: workers' own ones may differ, and the store may be away. */
function scheduledNow(): number {
  return activityInfo().currentAttemptScheduledTimestampMs;
}

/** @throws for another attempt, where there is time for it. */
async function failed(
  dependencies: ActivityDependencies,
  input: DeliverNotice,
  asked: Asked,
  error: unknown,
): Promise<DeliveredNotice> {
  const { app, sessionId, notifier = '', requestIds } = input;
  const { failures } = asked;
  const left = timeLeft(asked, input);
  const isFinal =
    hasCode(error, 'HOLDFAST_NOTICE_NOT_RECORDED') || (error instanceof NoticeFailed && error.final);
  if (isFinal || left <= 0) {
    // The attempt in the turn counts, too.
    await keepDeadLetter(dependencies, input, { error, attempts: failures + 1 });
    return { v: PROTOCOL_VERSION, status: 'dead' };
  }
  const problem = problemOf(dependencies, error);
  callLogger(dependencies, { app, sessionId }).warn(`the notifier ${notifier} failed`, {
    requests: requestIds,
    problem,
  });
  // The last attempt comes when its time is over.
  throw retryLater('NoticeFailed', `the notifier ${notifier} failed: ${problem}`, {
    delay: Math.min(delayOf(failures + 1, error), left),
  });
}

function askedBefore(): { before?: Asked; wasLast?: boolean } {
  const { heartbeatDetails } = activityInfo();
  if (!isRecord(heartbeatDetails)) return {};
  const { from, failures, last } = heartbeatDetails;
  if (typeof from !== 'number' || typeof failures !== 'number') return {};
  return { before: { from, failures }, wasLast: last === true };
}
