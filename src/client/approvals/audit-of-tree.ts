import { auditedSignatures } from '../../approvals/audited-signatures.ts';
import type { AuditProblem, AuditRow, AuditVerification } from '../../contract/audit.ts';
import type { CredentialKeys } from '../../credentials/credential-keys.ts';
import type { Store } from '../../store/store.ts';
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
  const children = await store.turns.listChildren(which);
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

/**
 * Checks the chains, and that each person named as verified has signed.
 *
 * @param credentialKeys of the gateway's signatures. Defaults to the keys that the store has kept with them.
 */
export async function verifyAudits(
  store: Pick<Store, 'approvals' | 'sessions'>,
  sessions: readonly AuditedSession[],
  credentialKeys?: CredentialKeys,
): Promise<AuditVerification> {
  const problems: AuditProblem[] = [];
  const unchecked: AuditProblem[] = [];
  let count = 0;
  for (const { id, below } of sessions) {
    const chain = await store.approvals.verifyAudit(id);
    const rows = await store.sessions.readAudit(id);
    // After the rows: none of those is there before its signature.
    const signatures = await store.approvals.listSignatures(id);
    const signed = await auditedSignatures({ session: id, rows, signatures, credentialKeys });
    const named = (found: readonly AuditProblem[]) =>
      below === undefined ? found : found.map((each) => ({ ...each, sessionId: below }));
    count += chain.rows;
    problems.push(...named([...chain.problems, ...signed.problems].sort((one, other) => one.n - other.n)));
    unchecked.push(...named(signed.unchecked));
  }
  return {
    ...{ ok: problems.length === 0, rows: count, problems },
    ...(unchecked.length === 0 ? {} : { unchecked }),
  };
}
