import type { AuditRow } from '../../contract/audit.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { clockTime } from '../sessions/shown-values.ts';
import { type AuditOptions, auditTarget } from './audit-target.ts';

type InFolder<Options> = Options & Pick<ConnectOptions, 'folder' | 'env'>;

/** `holdfast approvals audit verify`: recomputes the hash chain, checks signatures. Returns the exit code, 1 where it doesn't hold. */
export async function verifyAudit(
  argument: string | undefined,
  options: InFolder<AuditOptions>,
  output: CommandOutput = processOutput(),
): Promise<number> {
  const { folder, env } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const { which, shown } = await auditTarget(argument, options, connected.apps);
    const verified = await withProgress(output, 'verifying', connected.approvals.verifyAudit(which));
    const { ok, rows, problems, unchecked = [] } = verified;
    if (options.json) output.json(verified);
    else {
      const count = rows === 1 ? '1 row' : `${rows} rows`;
      output.line(
        ok
          ? `the audit of ${visibleExcerpt(shown, 300)} holds: ${count}, each bound to the one before`
          : `the audit of ${visibleExcerpt(shown, 300)} does not hold: ${count}`,
      );
      for (const { n, problem, sessionId } of [...problems, ...unchecked]) {
        const where = sessionId === undefined ? '' : ` of ${visibleExcerpt(sessionId, 60)}`;
        output.line(`  row ${n}${where}: ${visibleExcerpt(problem, 300)}`);
      }
    }
    return ok ? 0 : 1;
  } finally {
    await connected.close();
  }
}

/** `holdfast approvals audit show`: what happened in a session that is to be proved. */
export async function showAudit(
  argument: string | undefined,
  options: InFolder<AuditOptions>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const { which } = await auditTarget(argument, options, connected.apps);
    const rows = await withProgress(output, 'reading the audit', connected.approvals.audit(which));
    if (options.json) return output.json({ rows });
    for (const row of rows) for (const line of rowLines(row, output)) output.line(line);
  } finally {
    await connected.close();
  }
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
