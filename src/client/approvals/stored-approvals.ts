import type { ApprovalOperation } from '../../contract/approvals.ts';
import type { Handlers } from '../../contract/operation.ts';
import type { Store } from '../../store/store.ts';
import { SessionNotFound } from '../../store/store-errors.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';
import type { WhichAudit } from './approvals.ts';
import { auditedSessions, readAudits, verifyAudits } from './audit-of-tree.ts';
import { findRequest, namedRequest, type WhichRequest } from './find-request.ts';
import { shownAudit, shownRequest } from './shown-request.ts';

type Reads = Extract<
  ApprovalOperation,
  { name: 'approvals.list' | 'approvals.get' | 'approvals.audit' | 'approvals.verifyAudit' }
>;

/** Loads nothing of Temporal. */
export const storedApprovals: Handlers<Reads, StoredContext> = {
  'approvals.list': async (list, context) => {
    const rows = await storeOf(context, 'approvals.list').approvals.list(list);
    return { approvals: rows.map(shownRequest) };
  },
  'approvals.get': async (which, context) => {
    const method = 'approvals.get';
    const row = await findRequest(
      storeOf(context, method),
      namedRequest(which as WhichRequest, method),
      method,
    );
    return row && shownRequest(row);
  },
  'approvals.audit': async (which, context) => {
    const store = storeOf(context, 'approvals.audit');
    const sessions = await auditedSessions(store, which, await sessionIdOf(store, which, 'approvals.audit'));
    const rows = await readAudits(sessions, (id) => shownAudit(store, id));
    if (rows.length === 0) throw noAudit('approvals.audit', which);
    return { rows };
  },
  'approvals.verifyAudit': async (which, context) => {
    const store = storeOf(context, 'approvals.verifyAudit');
    const session = await sessionIdOf(store, which, 'approvals.verifyAudit');
    const audited = await verifyAudits(
      store,
      await auditedSessions(store, which, session),
      context.credentialKeys,
    );
    if (audited.rows === 0 && audited.ok) throw noAudit('approvals.verifyAudit', which);
    return audited;
  },
};

/** The store's id of a session, which its audit is kept under for ever. */
async function sessionIdOf(store: Store, which: WhichAudit, method: string): Promise<string> {
  if ('session' in which) return which.session;
  const found = await store.sessions.find(which);
  if (found === undefined) throw noAudit(method, which);
  return found.session;
}

function noAudit(method: string, which: WhichAudit): SessionNotFound {
  const what = 'session' in which ? which.session : `${which.app}/${which.userId}/${which.sessionId}`;
  return new SessionNotFound(
    `${method}: there is no session ${what}: one that was deleted is named by the store's id of it, { session }`,
  );
}
