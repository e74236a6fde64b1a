import { activityInfo } from '@temporalio/activity';
import { noticeIdOf } from '../../src/approvals/start-notice.ts';
import type { DeliverNotice } from '../../src/protocol/gate.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger } from '../logging.ts';
import { noticeProblem } from './notice-problem.ts';

const CONCEALED = 'it failed; what it said is kept from here';

/** What was wrong with telling somebody, as operators may read it. */
export function problemOf({ conceal }: Pick<ActivityDependencies, 'conceal'>, error: unknown): string {
  return conceal ? CONCEALED : noticeProblem(error);
}

/** Keeps a notice that nobody tries to tell any more, for operators to send it again. */
export async function buryNotice(
  dependencies: ActivityDependencies,
  input: DeliverNotice,
  { error, attempts }: { error: unknown; attempts: number },
): Promise<void> {
  const { app, sessionId, session, notifier = '', requestIds, why } = input;
  const [requestId = ''] = requestIds;
  const problem = problemOf(dependencies, error);
  await dependencies.store.buryNotice({
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
