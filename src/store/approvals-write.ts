import { randomUUID } from 'node:crypto';
import type { RequestEntry } from '../protocol/gate.ts';
import type { SuspendCall } from './approval-store.ts';
import { placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import { jsonText } from './json-text.ts';
import { eventColumns } from './stored-event.ts';

const RECORD = 'select holdfast.record_entries_1($1, $2)';
const SUSPEND = 'select holdfast.suspend_call_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as answer';

export async function recordEntries(
  database: Database,
  { session, entries }: { session: string; entries: readonly RequestEntry[] },
): Promise<void> {
  if (entries.length > 0) await database.query(RECORD, [session, jsonText(entries)]);
}

/** The transcript's last seq with the request's event; undefined where the attempt doesn't count. */
export async function suspendCall(
  database: Database,
  { session, runKey, callKey, attempt, request, event }: SuspendCall,
): Promise<{ seq: number; appended: boolean } | undefined> {
  const { author, branch, body, delta } = eventColumns(event, request.agent);
  const [row] = await database.query<{ answer: { seq: number; appended: boolean } | null }>(SUSPEND, [
    session,
    runKey,
    placeOfCall(callKey).step,
    callKey,
    attempt,
    jsonText(request),
    randomUUID(),
    author,
    branch,
    body,
    delta,
  ]);
  return row?.answer ?? undefined;
}
