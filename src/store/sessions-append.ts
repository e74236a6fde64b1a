import { randomUUID } from 'node:crypto';
import type { Database } from './database.ts';
import { storableText } from './json-text.ts';
import { sessionKeys } from './session-key.ts';
import type { AppendEvent } from './session-store.ts';
import { newMarkerId } from './sessions-rewind.ts';
import { shownName } from './shown-name.ts';
import type { StoredEvent } from './store.ts';
import { SessionNotFound } from './store-errors.ts';
import { type EventRow, eventColumns, storedEvent } from './stored-event.ts';

const APPEND =
  'select holdfast.append_event_1(holdfast.root_key_1($1), $2, $3, $4, $5, $6, $7, $8, $9) as answer';

type AppendAnswer = { problem?: undefined; session: string; event: EventRow } | { problem: 'no session' };

export async function appendEvent(
  database: Database,
  append: AppendEvent,
): Promise<{ session: string; appended: StoredEvent }> {
  const { event, key, sessionId } = append;
  const run = newMarkerId();
  const { author, branch, body, delta } = eventColumns(
    { ...event, invocationId: event.invocationId || run },
    'user',
  );
  const kind = author === 'user' && event.content !== undefined ? 'message' : 'callback';
  const [row] = await database.query<{ answer: AppendAnswer }>(APPEND, [
    sessionKeys(append).name,
    storableText(`append:${key}`),
    randomUUID(),
    kind,
    run,
    author,
    branch,
    body,
    delta ?? '{}',
  ]);
  const { answer } = row as { answer: AppendAnswer };
  if (answer.problem === undefined) return { session: answer.session, appended: storedEvent(answer.event) };
  throw new SessionNotFound(`sessionId: this user and app have no session ${shownName(sessionId)}`);
}
