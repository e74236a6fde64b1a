import { sql } from 'kysely';
import type { WhichAudit } from '../client/approvals/approvals.ts';
import { auditedSessions, readAudits, verifyAudits } from '../client/approvals/audit-of-tree.ts';
import { findRequest, namedRequest } from '../client/approvals/find-request.ts';
import { shownAudit, shownRequest } from '../client/approvals/shown-request.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { OpenedStore } from '../store/open-store.ts';
import { type SessionNames, sessionKeys } from '../store/sessions/session-names.ts';
import type { Store } from '../store/store.ts';
import { SessionNotFound } from '../store/store-errors.ts';

/** What of {@link HoldfastApi} asks nothing but the store. */
export interface StoredApi {
  sessions: Pick<HoldfastApi['sessions'], 'get' | 'list' | 'fork'>;
  approvals: Pick<HoldfastApi['approvals'], 'list' | 'get' | 'audit' | 'verifyAudit'>;
  jobs: Pick<HoldfastApi['jobs'], 'list' | 'get'>;
}

export function storedApi(store: Store): StoredApi {
  const { sessions, jobs } = store;
  return {
    sessions: {
      get: (get) => sessions.get(get),
      list: (list) => sessions.list(list),
      fork: (fork) => sessions.fork(fork),
    },
    approvals: storedApprovals(store),
    jobs: { list: (list) => jobs.list(list), get: (jobId) => jobs.find(jobId) },
  };
}

function storedApprovals(store: Store): StoredApi['approvals'] {
  const sessionOf = async (which: WhichAudit): Promise<string> => {
    if ('session' in which) return which.session;
    const found = await store.sessions.find(which);
    if (found !== undefined) return found.session;
    const { app, userId, sessionId } = which;
    throw new SessionNotFound(
      `there is no session ${app}/${userId}/${sessionId}; one that was deleted is named by the store's id of it`,
    );
  };
  return {
    list: async (list) => (await store.approvals.list(list)).map(shownRequest),
    async get(which) {
      const method = 'approvals.get';
      const row = await findRequest(store, namedRequest(which, method), method);
      return row && shownRequest(row);
    },
    audit: async (which) =>
      await readAudits(await auditedSessions(store, which, await sessionOf(which)), (id) =>
        shownAudit(store, id),
      ),
    verifyAudit: async (which) =>
      await verifyAudits(store, await auditedSessions(store, which, await sessionOf(which))),
  };
}

/** Whether it is the session of an agent that a call has run. */
export async function isBelow(store: OpenedStore, names: SessionNames): Promise<boolean> {
  const { rows } = await sql`
    select from holdfast.sessions s
    where s.name_key = ${sessionKeys(names).name} and s.root_session is not null`.execute(store.db);
  return rows.length > 0;
}

/** From each app's first index entry to the next app's, however many sessions there are. */
export async function appsOf(store: OpenedStore): Promise<string[]> {
  const { rows } = await sql<{ app: string }>`
    with recursive found as (
      (select app, app_key from holdfast.sessions where root_session is null order by app_key limit 1)
      union all
      select next.app, next.app_key from found,
        lateral (
          select s.app, s.app_key from holdfast.sessions s
          where s.app_key > found.app_key and s.root_session is null order by s.app_key limit 1
        ) next
    ) select app from found order by app`.execute(store.db);
  return rows.map(({ app }) => app);
}
