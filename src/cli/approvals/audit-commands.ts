import type { WhichAudit } from '../../client/approvals/approvals.ts';
import type { AuditRow } from '../../contract/audit.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { connected, connectSessions, type InFolder } from '../connect-folder.ts';
import type { Connected } from '../direct-api.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';
import { clockTime } from '../sessions/shown-values.ts';

interface AuditOptions extends NamingOptions {
  /** In place of the argument. */
  session?: string;
  /** The store's id of a session; the only name of one that was deleted. */
  storeId?: string;
}

/** `holdfast approvals audit verify`: recomputes the hash chain, checks signatures. Returns the exit code, 1 where it doesn't hold. */
export async function verifyAudit(
  argument: string | undefined,
  options: InFolder<AuditOptions>,
  output = processOutput(),
): Promise<number> {
  return await connected(connectSessions, options, output, async ({ api: { approvals }, apps }) => {
    const { which, shown } = await auditTarget(argument, options, apps);
    const verified = await withProgress(output, 'verifying', approvals.verifyAudit(which));
    const { ok, rows, problems, unchecked = [] } = verified;
    if (options.json) output.json(verified);
    else {
      const count = rows === 1 ? '1 row' : `${rows} rows`;
      const audit = `the audit of ${visibleExcerpt(shown, 300)}`;
      output.line(
        ok ? `${audit} holds: ${count}, each bound to the one before` : `${audit} does not hold: ${count}`,
      );
      for (const { n, problem, sessionId } of [...problems, ...unchecked]) {
        const where = sessionId === undefined ? '' : ` of ${visibleExcerpt(sessionId, 60)}`;
        output.line(`  row ${n}${where}: ${visibleExcerpt(problem, 300)}`);
      }
    }
    return ok ? 0 : 1;
  });
}

/** `holdfast approvals audit show`: what happened in a session that is to be proved. */
export async function showAudit(
  argument: string | undefined,
  options: InFolder<AuditOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { approvals }, apps }) => {
    const { which } = await auditTarget(argument, options, apps);
    const rows = await withProgress(output, 'reading the audit', approvals.audit(which));
    if (options.json) return output.json({ rows });
    for (const row of rows) for (const line of rowLines(row, output)) output.line(line);
  });
}

/** The session of the audit, and its name. @throws CliError for no named session, or more than one. */
async function auditTarget(
  argument: string | undefined,
  options: AuditOptions,
  apps: Connected['apps'],
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

/** The kind of a row, and below it the facts that its hash is over. */
function rowLines(
  { n, at, kind, facts, hash, sessionId }: AuditRow,
  { paint }: Pick<CommandOutput, 'paint'>,
): string[] {
  const below = sessionId === undefined ? '' : `  (below: ${visibleExcerpt(sessionId, 60)})`;
  const head = `${String(n).padStart(4)}  ${clockTime(at)}  ${kind}${below}`;
  const told = Object.entries(facts).map(
    ([name, value]) => `        ${visibleExcerpt(name, 40)}: ${visibleExcerpt(String(value), 200)}`,
  );
  return [paint('bold', head), ...told, paint('dim', `        hash: ${hash}`)];
}
