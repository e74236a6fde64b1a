import { activityInfo } from '@temporalio/activity';
import { NoticeFailed } from '../src/approvals/notice-failed.ts';
import type { DeliveredNotice, DeliverNotice } from '../src/protocol/gate.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { isRecord } from '../src/schema/kind-of.ts';
import { StoreError } from '../src/store/store-errors.ts';
import { type Attempt, attempt, retryLater } from './attempt.ts';
import { buryNotice, problemOf } from './bury-notice.ts';
import { checkedDelivery } from './checked-notice.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';
import { callLogger, reportUnexpected } from './logging.ts';
import { delayOf } from './notice-retries.ts';
import { rowsOf, StillTelling, tellNotifier } from './tell-notifier.ts';

/** What earlier attempts have come to, in the heartbeat's details, which Temporal hands on. */
interface Asked {
  /** When its time began: an outage of the store before its first attempt takes nothing of it. */
  from: number;
  /** How often the notifier has failed. */
  failures: number;
}

/**
 * `holdfast.deliverNotice`: tells one notifier of one request, again and again until its time is over; then the notice is kept as dead.
 * What keeps the store from answering is none of the notifier's failures: it is waited for, however long that takes.
 */
export function deliverNotice(
  dependencies: ActivityDependencies,
): (input: DeliverNotice) => Promise<DeliveredNotice> {
  return (input) => {
    const { app, sessionId } = input;
    return attempt(
      (current) => deliver(dependencies, input, current),
      reportUnexpected(dependencies, { app, sessionId }),
    );
  };
}

async function deliver(
  dependencies: ActivityDependencies,
  given: DeliverNotice,
  current: Attempt,
): Promise<DeliveredNotice> {
  const v = PROTOCOL_VERSION;
  const { attempt: attempts, scheduledTimestampMs } = activityInfo();
  const input = checkedDelivery(given, scheduledTimestampMs);
  const before = askedBefore();
  // Each beat replaces what the one before has told, those of earlier attempts among them.
  if (before !== undefined) current.heartbeat(before);
  const rows = await rowsOf(dependencies, input);
  const asked = before ?? { from: attempts === 1 ? input.failedAt : Date.now(), failures: 0 };
  const isWanted = rows.some(({ status }) => input.why === 'ended' || status === 'pending');
  if (!isWanted) return { v, status: 'unwanted' };
  const { notifiers } = settingsOf(dependencies.deployment, input.app);
  const notifier = notifiers.find(({ name }) => name === input.notifier);
  try {
    if (notifier === undefined) throw new NoticeFailed('this worker has no notifier of this name');
    await tellNotifier(dependencies, notifier, { input, rows, since: input.since }, current);
    return { v, status: 'told' };
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    if (error instanceof StillTelling || (error instanceof StoreError && error.retryable)) throw error;
    const now: Asked = { ...asked, failures: asked.failures + 1 };
    current.heartbeat(now);
    return await failed(dependencies, input, now, error);
  }
}

/** @throws for another attempt, where there is time for it. */
async function failed(
  dependencies: ActivityDependencies,
  input: DeliverNotice,
  { from, failures }: Asked,
  error: unknown,
): Promise<DeliveredNotice> {
  const { app, sessionId, notifier = '', requestIds, retryFor } = input;
  const left = from + retryFor - Date.now();
  const isFinal = error instanceof NoticeFailed && error.final;
  if (isFinal || left <= 0) {
    // The one in the turn among them.
    await buryNotice(dependencies, input, { error, attempts: failures + 1 });
    return { v: PROTOCOL_VERSION, status: 'dead' };
  }
  const problem = problemOf(dependencies, error);
  callLogger(dependencies, { app, sessionId }).warn(`the notifier ${notifier} failed`, {
    requests: requestIds,
    problem,
  });
  // The last attempt is when its time is over.
  throw retryLater('NoticeFailed', `the notifier ${notifier} failed: ${problem}`, {
    delay: Math.min(delayOf(failures + 1, error), left),
  });
}

function askedBefore(): Asked | undefined {
  const { heartbeatDetails } = activityInfo();
  if (!isRecord(heartbeatDetails)) return undefined;
  const { from, failures } = heartbeatDetails;
  return typeof from === 'number' && typeof failures === 'number' ? { from, failures } : undefined;
}
