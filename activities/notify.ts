import { activityInfo } from '@temporalio/activity';
import type { NotifiedRequest, Notifier } from '../src/approvals/notifier.ts';
import type { NotifyInput } from '../src/protocol/gate.ts';
import { isRecord } from '../src/schema/kind-of.ts';
import { thrownMessage } from '../src/tools/thrown-message.ts';
import { afterTime } from './after-time.ts';
import { type Attempt, attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';
import { callLogger, reportUnexpected } from './logging.ts';
import { notifiedRequest } from './notified-request.ts';
import { whicheverComesFirst } from './race.ts';

/** Milliseconds that one notifier may take. */
const NOTIFIER_TIME = 60_000;

/** People were not told of a request by one of the ways to tell them. Another attempt follows. */
export class NotifierFailed extends Error {
  readonly code = 'HOLDFAST_NOTIFIER_FAILED';
  override readonly name = 'NotifierFailed';
  readonly retryable = true;
}

/**
 * `holdfast.notify`: tells people of requests by each of the app's notifiers. Another attempt asks only those that have failed:
 * which have not is in the heartbeat's details, which Temporal hands on. Only where the worker dies in between may one be asked again.
 */
export function notify(dependencies: ActivityDependencies): (input: NotifyInput) => Promise<void> {
  return (input) => {
    const { app, sessionId } = input;
    return attempt(
      (current) => tell(dependencies, input, current),
      reportUnexpected(dependencies, { app, sessionId }),
    );
  };
}

async function tell(dependencies: ActivityDependencies, input: NotifyInput, current: Attempt): Promise<void> {
  const { app, why } = input;
  const done = toldBefore();
  const left = settingsOf(dependencies.deployment, app).notifiers.filter(({ name }) => !done.has(name));
  const requests = await pendingOf(dependencies, input);
  if (requests.length === 0) return;
  // Each beat replaces what the one before has told, those of earlier attempts among them.
  if (done.size > 0) current.heartbeat({ told: [...done] });
  const failed: string[] = [];
  await Promise.all(
    left.map(async (notifier) => {
      try {
        await told(notifier, requests, why, current);
        done.add(notifier.name);
        current.heartbeat({ told: [...done] });
      } catch (error) {
        if (current.signal.aborted) throw current.aborted();
        failed.push(notifier.name);
        warn(dependencies, input, notifier, error);
      }
    }),
  );
  if (failed.length === 0) return;
  throw new NotifierFailed(
    `notifiers failed: ${failed.join(', ')}; their turn waits for an answer all the same`,
  );
}

async function told(
  notifier: Notifier,
  requests: readonly NotifiedRequest[],
  why: NotifyInput['why'],
  current: Attempt,
): Promise<void> {
  const late = afterTime(NOTIFIER_TIME);
  try {
    // A copy for each: what one of them changes is nobody else's.
    await whicheverComesFirst(notifier.notify(structuredClone(requests), why), [
      [current.signal, current.aborted],
      [late.signal, () => new Error(`no answer within ${NOTIFIER_TIME} ms`)],
    ]);
  } finally {
    late.clear();
  }
}

/** Names of the notifiers that earlier attempts have finished with. */
function toldBefore(): Set<string> {
  const { heartbeatDetails } = activityInfo();
  const names: unknown = isRecord(heartbeatDetails) ? heartbeatDetails.told : undefined;
  return new Set(Array.isArray(names) ? names.filter((name) => typeof name === 'string') : []);
}

async function pendingOf(
  { store, transcriptUrl }: ActivityDependencies,
  { session, requestIds }: NotifyInput,
): Promise<NotifiedRequest[]> {
  const rows = await Promise.all(requestIds.map((requestId) => store.findRequest(session, requestId)));
  return rows.flatMap((row) => (row?.status === 'pending' ? [notifiedRequest(row, transcriptUrl)] : []));
}

function warn(
  dependencies: ActivityDependencies,
  { app, sessionId, requestIds }: NotifyInput,
  { name }: Notifier,
  error: unknown,
): void {
  callLogger(dependencies, { app, sessionId }).warn(`the notifier ${name} failed`, {
    requests: requestIds,
    ...(dependencies.conceal ? {} : { problem: thrownMessage(error) }),
  });
}
