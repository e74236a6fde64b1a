import { randomUUID } from 'node:crypto';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { shownName } from '../engine/shown-name.ts';
import { callFunction } from '../engine/sql-function.ts';
import type { StoredEvent } from '../store.ts';
import { SessionNotFound } from '../store-errors.ts';
import { sessionKeys } from './session-key.ts';
import type { AppendEvent } from './session-store.ts';
import { newMarkerId } from './sessions-rewind.ts';
import { type EventRow, eventArguments, storedEvent } from './stored-event.ts';

type AppendAnswer = { problem?: undefined; session: string; event: EventRow } | { problem: 'no session' };

export async function appendEvent(
  database: Database,
  append: AppendEvent,
): Promise<{ session: string; appended: StoredEvent }> {
  const { event, key, sessionId } = append;
  const run = newMarkerId();
  const appended = eventArguments({ ...event, invocationId: event.invocationId || run }, 'user');
  const answer = await callFunction<AppendAnswer>(database, 'append_event', {
    name_key: sessionKeys(append).name,
    dedupe_key: storableText(`append:${key}`),
    event_id: randomUUID(),
    kind: appended.author === 'user' && event.content !== undefined ? 'message' : 'callback',
    run_key: run,
    ...appended,
  });
  if (answer.problem === undefined) return { session: answer.session, appended: storedEvent(answer.event) };
  throw new SessionNotFound(`sessionId: this user and app have no session ${shownName(sessionId)}`);
}
