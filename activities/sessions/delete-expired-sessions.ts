import { Context as ActivityContext } from '@temporalio/activity';
import { deleteHistories } from '../../src/client/sessions/delete-histories.ts';
import { isOpen, latestRun } from '../../src/client/turns/open-run.ts';
import type { RetainSessions } from '../../src/contract/sessions.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import type { ExpiredSessions } from '../../src/protocol/retention.ts';
import type { DeleteSession } from '../../src/store/sessions/session-store.ts';
import type { Store } from '../../src/store/store.ts';
import { SessionHasForks } from '../../src/store/store-errors.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';

const AT_ONCE = 50;
/** Memories that were added by themselves; the next run deletes more. */
const MOST_MEMORIES = 10_000;

/** `holdfast.deleteExpiredSessions`: some of an app's sessions that are older than its retention, runs included. */
export async function deleteExpiredSessions(
  { store, deployment }: ActivityDependencies,
  { app, after }: RetainSessions,
  { signal, aborted }: Attempt,
): Promise<ExpiredSessions> {
  const { retention } = settingsOf(deployment, app);
  const expired = { v: PROTOCOL_VERSION, deleted: 0, more: false };
  if (retention === undefined) return expired;
  const { client } = ActivityContext.current();
  const idleSince = (await store.now()) - retention;
  const found = await store.sessions.idleSince(app, idleSince, AT_ONCE, after);
  for (const { app: of, userId, sessionId } of found) {
    if (signal.aborted) throw aborted();
    const names = { app: of, userId, sessionId };
    const workflowId = workflowIdOf(of, userId, sessionId);
    const latest = await latestRun(client, workflowId);
    // A turn that waits for a person is not over.
    if (latest !== undefined && isOpen(latest)) continue;
    if (!(await deleted(store, { ...names, idleSince }))) continue;
    await deleteHistories(client, workflowId, latest);
    expired.deleted += 1;
  }
  await store.memories.deleteAddedBefore(app, idleSince, MOST_MEMORIES);
  const last = found.at(-1);
  if (last === undefined || found.length < AT_ONCE) return expired;
  return { ...expired, more: true, after: { session: last.session, createdAt: last.createdAt } };
}

/** A session that came into use meanwhile stays, and so does one with forks in use. */
async function deleted(store: Store, remove: DeleteSession): Promise<boolean> {
  try {
    return (await store.sessions.delete(remove)).length > 0;
  } catch (error) {
    if (error instanceof SessionHasForks) return false;
    throw error;
  }
}
