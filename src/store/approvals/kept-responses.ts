import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import type { ApprovalStore, KeptResponse } from './approval-store.ts';

const KEEP = `insert into holdfast.responses (session_id, ref, request_id, response, is_text)
select s.id, $2, $3, $4::json, $5::boolean from holdfast.sessions s where s.id = $1
on conflict on constraint responses_pkey do update set response = excluded.response, is_text = excluded.is_text`;

const FIND = `select r.response, r.is_text from holdfast.responses r
where r.ref = $1 and r.session_id = $2 and r.request_id = $3`;

/** @throws Unstorable */
export async function keepResponse(database: Database, kept: KeptResponse): Promise<void> {
  const { session, requestId, responseRef, response, isText } = kept;
  await database.query(KEEP, [session, responseRef, storableText(requestId), jsonText(response), isText]);
}

export async function findResponse(
  database: Database,
  { session, requestId, responseRef }: Parameters<ApprovalStore['findResponse']>[0],
): Promise<Pick<KeptResponse, 'response' | 'isText'> | undefined> {
  const [row] = await database.query<{ response: unknown; is_text: boolean }>(FIND, [
    storableText(responseRef),
    session,
    storableText(requestId),
  ]);
  return row && { response: row.response, isText: row.is_text };
}
