import { randomUUID } from 'node:crypto';
import type { RequestEntry } from '../../protocol/gate.ts';
import type { Database } from '../engine/database.ts';
import { jsonText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { eventArguments } from '../sessions/stored-event.ts';
import { placeOfCall } from '../turns/call-place.ts';
import type { SuspendCall } from './approval-store.ts';

const RECORD = 'select holdfast.record_entries($1, $2)';

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
  const suspended = await callFunction<{ seq: number; appended: boolean } | null>(database, 'suspend_call', {
    session,
    run_key: runKey,
    step: placeOfCall(callKey).step,
    call_key: callKey,
    attempt,
    request: JsonDocument.of(request),
    event_id: randomUUID(),
    ...eventArguments(event, request.agent),
  });
  return suspended ?? undefined;
}
