import { activityInfo } from '@temporalio/activity';
import { NoticeFailed } from '../src/approvals/notice-failed.ts';
import { noticeProblem } from '../src/approvals/notice-problem.ts';
import { noticeIdOf } from '../src/approvals/start-notice.ts';
import type { DeliveredNotice, DeliverNotice } from '../src/protocol/gate.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { type Attempt, attempt, retryLater } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';
import { callLogger, reportUnexpected } from './logging.ts';
import { delayOf } from './notice-retries.ts';
import { rowsOf, tellNotifier } from './tell-notifier.ts';

const CONCEALED = 'it failed; what it said is kept from here';

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
  const { conceal, store } = dependencies;
  const { app, sessionId, session, notifier = '', requestIds, why, since, retryFor } = input;
  const { attempt: attempts } = activityInfo();
  const problem = conceal ? CONCEALED : noticeProblem(error);
  const delay = delayOf(attempts + 1, error);
  const isFinal = error instanceof NoticeFailed && error.final;
  if (!isFinal && Date.now() + delay < since + retryFor) {
    throw retryLater('NoticeFailed', `the notifier ${notifier} failed: ${problem}`, { delay });
  }
  const noticeId = noticeIdOf(input);
  const [requestId = ''] = requestIds;
  // The one in the turn among them.
  const dead = { noticeId, notifier, app, session, requestId, why, error: problem, attempts: attempts + 1 };
  await store.buryNotice({ ...dead, input });
  callLogger(dependencies, { app, sessionId }).warn(
    `a notice of ${notifier} is given up: holdfast notices list shows it`,
    { requests: requestIds, ...(conceal ? {} : { problem }) },
  );
  return { v: PROTOCOL_VERSION, status: 'dead' };
}
