import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { AuditRow } from './session-store.ts';

export async function readAudit(database: Database, session: string): Promise<AuditRow[]> {
  const rows = await database.read(
    database.db
      .selectFrom('holdfast.audit')
      .select(['n', 'at', 'kind', 'facts', 'hash', 'content'])
      .where('session_id', '=', storableText(session))
      .orderBy('n')
      .compile(),
  );
  return rows.map(({ at, content, ...row }) => ({
    ...row,
    at: at.getTime(),
    ...(content === null ? {} : { content }),
  }));
}
