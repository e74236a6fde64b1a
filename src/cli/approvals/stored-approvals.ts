import type { Approvals, WhichAudit } from '../../client/approvals/approvals.ts';
import { auditedSessions, readAudits, verifyAudits } from '../../client/approvals/audit-of-tree.ts';
import { findRequest, namedRequest } from '../../client/approvals/find-request.ts';
import { shownAudit, shownRequest } from '../../client/approvals/shown-request.ts';
import type { Store } from '../../store/store.ts';
import { SessionNotFound } from '../../store/store-errors.ts';

/** What of {@link Approvals} asks nothing but the store. */
export function storedApprovals(store: Store): Pick<Approvals, 'list' | 'get' | 'audit' | 'verifyAudit'> {
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
