import { Context as ActivityContext } from '@temporalio/activity';
import { deleteHistories, turnRuns } from '../src/client/delete-histories.ts';
import { workflowIdOf } from '../src/protocol/identity.ts';
import type { ExpiredSessions, RetainSessions } from '../src/protocol/retention.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';
import { reportUnexpected } from './logging.ts';

const AT_ONCE = 50;

/** `holdfast.deleteExpiredSessions`: some of an app's sessions that are older than its retention, runs included. */
export function deleteExpiredSessions(
  dependencies: ActivityDependencies,
): (input: RetainSessions) => Promise<ExpiredSessions> {
  const { store, deployment } = dependencies;
  return ({ app }) =>
    attempt(
      async ({ signal, aborted }) => {
        const { retention } = settingsOf(deployment, app);
        const expired = { v: PROTOCOL_VERSION, deleted: 0, more: false };
        if (retention === undefined) return expired;
        const { client } = ActivityContext.current();
        const found = await store.sessionsIdleSince(app, Date.now() - retention, AT_ONCE);
        for (const names of found) {
          if (signal.aborted) throw aborted();
          const workflowId = workflowIdOf(names.app, names.userId, names.sessionId);
          // A turn that waits for somebody is not over.
          if (await turnRuns(client, workflowId)) continue;
          await store.deleteSession(names);
          await deleteHistories(client, workflowId);
          expired.deleted += 1;
        }
        return { ...expired, more: found.length === AT_ONCE && expired.deleted > 0 };
      },
      reportUnexpected(dependencies, { app }),
    );
}
