import { randomUUID } from 'node:crypto';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { shownName } from '../engine/shown-name.ts';
import type { StoredEvent } from '../store.ts';
import { NoSuchPlace, SessionNotFound } from '../store-errors.ts';
import { newSessionId, sessionKeys } from './session-key.ts';
import type { RewindSession } from './session-store.ts';
import { type EventRow, storedEvent } from './stored-event.ts';

const REWIND = 'select holdfast.rewind_session($1, $2, $3, $4) as answer';

type RewindAnswer =
  | { problem?: undefined; session: string; event: EventRow }
  | { problem: 'no session' }
  | { problem: 'no place'; invocations: string[] | null };

/** Invocation id of a marker. It stands for no turn, so that any id will do. */
export function newMarkerId(): string {
  return `e-${newSessionId()}`;
}

export async function rewindSession(
  database: Database,
  rewind: RewindSession,
): Promise<{ session: string; marker: StoredEvent }> {
  const { sessionId, beforeInvocationId } = rewind;
  const [row] = await database.query<{ answer: RewindAnswer }>(REWIND, [
    sessionKeys(rewind).name,
    storableText(beforeInvocationId),
    newMarkerId(),
    randomUUID(),
  ]);
  const { answer } = row as { answer: RewindAnswer };
  switch (answer.problem) {
    case undefined:
      return { session: answer.session, marker: storedEvent(answer.event) };
    case 'no session':
      throw new SessionNotFound(
        `sessionId: this user and app have no session ${shownName(sessionId)} to rewind`,
      );
    case 'no place': {
      const found = (answer.invocations ?? []).map(shownName).join(', ');
      throw new NoSuchPlace(
        `beforeInvocationId: session ${shownName(sessionId)} has no invocation ${shownName(beforeInvocationId)}, or an ` +
          `earlier rewind hides it; ${found === '' ? 'it has none' : `its latest are ${found}`}`,
      );
    }
  }
}
