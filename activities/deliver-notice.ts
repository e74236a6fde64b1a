import { activityInfo } from '@temporalio/activity';
import { NoticeFailed } from '../src/approvals/notice-failed.ts';
import type { DeliveredNotice, DeliverNotice } from '../src/protocol/gate.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { type Attempt, attempt, retryLater } from './attempt.ts';
import { buryNotice, problemOf } from './bury-notice.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';
import { reportUnexpected } from './logging.ts';
import { delayOf } from './notice-retries.ts';
import { rowsOf, tellNotifier } from './tell-notifier.ts';

/** `holdfast.deliverNotice`: tells one notifier of one request, again and again until its time is over; then the notice is kept as dead. */
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
  input: DeliverNotice,
  current: Attempt,
): Promise<DeliveredNotice> {
  const v = PROTOCOL_VERSION;
  const rows = await rowsOf(dependencies, input);
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
    return await failed(dependencies, input, error);
  }
}

/** @throws for another attempt, where there is time for it. */
async function failed(
  dependencies: ActivityDependencies,
  input: DeliverNotice,
  error: unknown,
): Promise<DeliveredNotice> {
  const { notifier = '', since, retryFor } = input;
  const { attempt: attempts } = activityInfo();
  const delay = delayOf(attempts + 1, error);
  const isFinal = error instanceof NoticeFailed && error.final;
  if (!isFinal && Date.now() + delay < since + retryFor) {
    throw retryLater('NoticeFailed', `the notifier ${notifier} failed: ${problemOf(dependencies, error)}`, {
      delay,
    });
  }
  // The one in the turn among them.
  await buryNotice(dependencies, input, { error, attempts: attempts + 1 });
  return { v: PROTOCOL_VERSION, status: 'dead' };
}
