import { activityInfo } from '@temporalio/activity';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import { noticeIdOf } from '../../src/approvals/start-notice.ts';
import type { DeliverNotice } from '../../src/protocol/gate.ts';
import { LONGEST_NOTICE_TIME } from '../../src/protocol/sizes.ts';
import { thrownMessage } from '../../src/schema/thrown-message.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger } from '../logging.ts';

const CONCEALED = 'it failed; its message is concealed';

/** The reason of a failed notification, for operators. */
export function problemOf({ conceal }: Pick<ActivityDependencies, 'conceal'>, error: unknown): string {
  return conceal ? CONCEALED : noticeProblem(error);
}

/** Keeps a notice that nobody tries to tell any more, for operators to send it again. */
export async function keepDeadLetter(
  dependencies: ActivityDependencies,
  input: DeliverNotice,
  { error, attempts }: { error: unknown; attempts: number },
): Promise<void> {
  const { app, sessionId, session, notifier = '', requestIds, why } = input;
  const [requestId = ''] = requestIds;
  const problem = problemOf(dependencies, error);
  await dependencies.store.notices.addDeadNotice({
    noticeId: noticeIdOf(input),
    ...{ notifier, app, session, requestId, why, attempts, input },
    taskQueue: activityInfo().taskQueue,
    error: problem,
  });
  callLogger(dependencies, { app, sessionId }).warn(
    `a notice of ${notifier} is given up: holdfast notices list shows it`,
    { requests: requestIds, problem },
  );
}

/** Milliseconds for which a notice is tried where its notifier doesn't say. */
export const DEFAULT_RETRY_TIME = 3 * 86_400_000;

const FIRST_DELAY = 1_000;
const LONGEST_DELAY = 60 * 60_000;

/** Part of a delay by which the delay is longer at random: failures at one time are not retried at one time. */
const JITTER = 0.2;
const LONGEST_JITTER = 10 * 60_000;

/**
 * Milliseconds until the next attempt: twice as long after each, an hour at most, and some more; not earlier than the receiver wants.
 *
 * @param attempt those so far, from 1.
 */
export function delayOf(attempt: number, error: unknown): number {
  const backOff = Math.min(FIRST_DELAY * 2 ** Math.min(attempt - 1, 30), LONGEST_DELAY);
  const wanted = error instanceof NoticeFailed ? (error.retryAfter ?? 0) : 0;
  const delay = Math.max(backOff, Math.min(wanted, LONGEST_NOTICE_TIME));
  return Math.ceil(delay + Math.random() * Math.min(delay * JITTER, LONGEST_JITTER));
}

const LONGEST = 500;
/** Addresses of hooks are secrets: what follows their host, and a name before it. */
const ADDRESS = /([a-z][a-z\d+.-]{0,30}:\/\/)(?:[^\s/?#@]*@)?([^\s/?#@'"<>)]*)[^\s'"<>)]*/gi;

/** The problem of a failed notice, for operators: of addresses the host only. */
function noticeProblem(error: unknown): string {
  return thrownMessage(error).replace(ADDRESS, '$1$2').slice(0, LONGEST).toWellFormed();
}
