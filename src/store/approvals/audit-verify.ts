import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { AuditedRequest } from './approval-store.ts';

/** By its own reading of the chain: nothing is asked of the database but the rows. */
export async function verifyAudit(database: Database, session: string): Promise<AuditedRequest> {
  const rows = await database.read(
    database.db
      .selectFrom('holdfast.audit')
      .select(['n', 'at', 'kind', 'facts', 'hash', 'salt', sql<string | null>`content::text`.as('content')])
      .where('session_id', '=', storableText(session))
      .orderBy('n')
      .compile(),
  );
  const problems: AuditedRequest['problems'] = [];
  const deletedAt = Math.max(0, ...rows.filter(({ kind }) => kind === 'deleted').map(({ n }) => n));
  let before = '';
  for (const [index, { n, at, kind, facts, hash, salt, content }] of rows.entries()) {
    if (n !== index + 1) problems.push({ n, problem: `row ${index + 1} is missing` });
    const own = sha256(canonicalJson([before, session, n, at.getTime(), kind, facts]));
    if (own !== hash)
      problems.push({ n, problem: 'the hash is not that of the row and of the one before it' });
    const { contentDigest } = facts;
    if (content !== null && contentDigest !== sha256(`${salt}${content}`)) {
      problems.push({ n, problem: 'the content is not that of its digest' });
    } else if (content === null && contentDigest !== undefined && n > deletedAt) {
      problems.push({ n, problem: 'the content is missing, and its session was not deleted' });
    }
    // A row that was changed is one problem, not one of all that come after it.
    before = hash;
  }
  return { ok: problems.length === 0, rows: rows.length, problems };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
