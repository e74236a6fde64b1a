import type { AuditedRequest } from '../store/approval-store.ts';
import type { AuditRow } from '../store/session-store.ts';
import type { Store } from '../store/store.ts';
import type { WhichAudit } from './approvals.ts';

/** A session whose audit is a chain of its own. */
interface AuditedSession {
  /** The store's id of it. */
  id: string;
  /** Of one that an agent's tool has made: its name. */
  below?: string;
}

/** With those that agents' tools have made below a session that is named; one that is known by the store's id is alone. */
export async function auditedSessions(
  store: Store,
  which: WhichAudit,
  id: string,
): Promise<AuditedSession[]> {
  if ('session' in which) return [{ id }];
  const children = await store.listChildren(which);
  return [{ id }, ...children.map(({ session, runKey }) => ({ id: session, below: runKey }))];
}

/** Rows of all of them, one chain after the other. */
export async function readAudits(
  sessions: readonly AuditedSession[],
  read: (id: string) => Promise<AuditRow[]>,
): Promise<AuditRow[]> {
  const chains = await Promise.all(
    sessions.map(async ({ id, below }) => {
      const rows = await read(id);
      return below === undefined ? rows : rows.map((row) => ({ ...row, sessionId: below }));
    }),
  );
  return chains.flat();
}

export async function verifyAudits(
  store: Pick<Store, 'verifyAudit'>,
  sessions: readonly AuditedSession[],
): Promise<AuditedRequest> {
  const all: AuditedRequest = { ok: true, rows: 0, problems: [] };
  for (const { id, below } of sessions) {
    const { ok, rows, problems } = await store.verifyAudit(id);
    all.ok &&= ok;
    all.rows += rows;
    all.problems.push(
      ...(below === undefined ? problems : problems.map((found) => ({ ...found, sessionId: below }))),
    );
  }
  return all;
}
