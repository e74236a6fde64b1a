import type { WhichAudit } from '../../client/approvals/approvals.ts';
import { UsageError } from '../cli-error.ts';
import type { ConnectedSessions } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';

export interface AuditOptions extends NamingOptions {
  /** In place of the argument. */
  session?: string;
  /** The store's id of a session; the only name of one that was deleted. */
  storeId?: string;
  json?: boolean;
}

/** The session of the audit, and its name. @throws CliError for no named session, or more than one. */
export async function auditTarget(
  argument: string | undefined,
  options: AuditOptions,
  apps: ConnectedSessions['apps'],
): Promise<{ which: WhichAudit; shown: string }> {
  const given = [argument, options.session, options.storeId].filter((name) => name !== undefined);
  const [only] = given;
  if (only === undefined || given.length > 1) {
    throw new UsageError('name one session: as an argument, with --session, or with --store-id');
  }
  if (options.storeId !== undefined) return { which: { session: only }, shown: `session ${only}` };
  const names = await namedSession(only, options, apps);
  return { which: names, shown: `session ${names.app}/${names.userId}/${names.sessionId}` };
}
