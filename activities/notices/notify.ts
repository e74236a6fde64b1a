import { activityInfo } from '@temporalio/activity';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import type { Notifier } from '../../src/approvals/notifier.ts';
import { startNotice } from '../../src/approvals/start-notice.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import type { DeliverNotice, NotifyInput } from '../../src/protocol/gate.ts';
import { isRecord } from '../../src/protocol/json.ts';
import { LONGEST_NOTICE_TIME } from '../../src/protocol/sizes.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { callNotifier, type NoticeToSend, rowsOf } from './call-notifier.ts';
import { checkedNotice, noticeTime } from './checked-notice.ts';
import { DEFAULT_RETRY_TIME, delayOf, keepDeadLetter, problemOf } from './notice-failure.ts';

/**
 * `holdfast.notify`: tells people of requests by each of the app's notifiers. A notice that one of them can't take goes on in a
 * workflow of its own, beside the turn. Another attempt asks only those whose notices no workflow has taken over: which those are
 * is in the heartbeat's details, which Temporal gives to the next attempt. Only where the worker dies in between may one be asked
 * again.
 */
export async function notify(
  dependencies: ActivityDependencies,
  given: NotifyInput,
  current: Attempt,
): Promise<void> {
  const input = checkedNotice(given);
  const { app, why } = input;
  const done = notifiedBefore();
  const isLeft = ({ name, ended }: Notifier) => !done.has(name) && (why !== 'ended' || ended !== undefined);
  const left = settingsOf(dependencies.deployment, app).notifiers.filter(isLeft);
  const rows = await rowsOf(dependencies, input);
  if (rows.length === 0) return;
  const notice = { input, rows, since: noticeTime(input.since, activityInfo().scheduledTimestampMs) };
  // A heartbeat replaces the details of the one before, so that it repeats the names of earlier attempts.
  if (done.size > 0) current.heartbeat({ told: [...done] });
  const failed: string[] = [];
  await Promise.all(
    left.map(async (notifier) => {
      try {
        await notifyOrDeliverLater(dependencies, notifier, notice, current);
        done.add(notifier.name);
        current.heartbeat({ told: [...done] });
      } catch {
        if (current.signal.aborted) throw current.aborted();
        failed.push(notifier.name);
      }
    }),
  );
  if (failed.length === 0) return;
  throw new HoldfastError(
    'HOLDFAST_NOTIFIER_FAILED',
    `notifiers failed: ${failed.join(', ')}; their turn waits for an answer all the same`,
  );
}

/** @throws where the notifier isn't told now and no later delivery has begun. */
async function notifyOrDeliverLater(
  dependencies: ActivityDependencies,
  notifier: Notifier,
  notice: NoticeToSend,
  current: Attempt,
): Promise<void> {
  try {
    await callNotifier(dependencies, notifier, notice, current);
  } catch (error) {
    if (current.signal.aborted) throw error;
    warn(dependencies, notice.input, notifier, error);
    await deliverLater(dependencies, notifier, notice, error);
  }
}

/** Delivers each request by itself: one of them may end while another one waits, and a final failure counts for one request only. */
async function deliverLater(
  dependencies: ActivityDependencies,
  notifier: Notifier,
  { input, rows, since }: NoticeToSend,
  error: unknown,
): Promise<void> {
  const { taskQueue } = activityInfo();
  const retryFor = Math.min(notifier.retryFor ?? DEFAULT_RETRY_TIME, LONGEST_NOTICE_TIME);
  const wanted = rows.filter(({ status }) => input.why === 'ended' || status === 'pending');
  const isFinal = error instanceof NoticeFailed && error.final && wanted.length === 1;
  const delay = Math.min(delayOf(1, error), retryFor);
  try {
    await Promise.all(
      wanted.map(async ({ requestId }) => {
        const start: DeliverNotice = {
          ...input,
          requestIds: [requestId],
          notifier: notifier.name,
          since,
          failedAt: activityInfo().currentAttemptScheduledTimestampMs,
          retryFor,
        };
        if (isFinal) await keepDeadLetter(dependencies, start, { error, attempts: 1 });
        else await startNotice(dependencies.temporal(), start, { taskQueue, delay });
      }),
    );
  } catch (problem) {
    warn(dependencies, input, notifier, problem);
    throw problem;
  }
}

/** Names of the notifiers that earlier attempts have finished with. */
function notifiedBefore(): Set<string> {
  const { heartbeatDetails } = activityInfo();
  const names: unknown = isRecord(heartbeatDetails) ? heartbeatDetails.told : undefined;
  return new Set(Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []);
}

function warn(
  dependencies: ActivityDependencies,
  { app, sessionId, requestIds }: NotifyInput,
  { name }: Notifier,
  error: unknown,
): void {
  callLogger(dependencies, { app, sessionId }).warn(`the notifier ${name} failed`, {
    requests: requestIds,
    problem: problemOf(dependencies, error),
  });
}
