import type { Database } from '../engine/database.ts';
import { shownName } from '../engine/shown-name.ts';
import { NoSuchPlace, SessionExists, SessionNotFound } from '../store-errors.ts';
import { newSessionId, sessionKeys } from './session-key.ts';
import type { ForkSession, Session } from './session-store.ts';
import { getSession } from './sessions-read.ts';

const FORK = 'select holdfast.fork_session(holdfast.root_key($1), $2, $3, $4, $5) as answer';

type ForkAnswer =
  | { problem?: undefined; session: string }
  | { problem: 'no session' | 'exists' }
  | { problem: 'no place'; last: number };

export async function forkSession(database: Database, fork: ForkSession): Promise<Session> {
  const { app, userId, sessionId, at, to = newSessionId() } = fork;
  // PostgreSQL would round a fraction, and refuse what is no number: -1 is no place either.
  const place = at === undefined ? null : Number.isSafeInteger(at) ? at : -1;
  const [row] = await database.query<{ answer: ForkAnswer }>(FORK, [
    sessionKeys(fork).name,
    place,
    newSessionId(),
    sessionKeys({ app, userId, sessionId: to }).name,
    to,
  ]);
  const { answer } = row as { answer: ForkAnswer };
  switch (answer.problem) {
    case undefined: {
      const made = await getSession(database, { app, userId, sessionId: to });
      if (made?.session === answer.session) return made;
      throw new SessionNotFound(`to: session ${shownName(to)} was deleted as soon as it was forked`);
    }
    case 'no session':
      throw new SessionNotFound(
        `sessionId: this user and app have no session ${shownName(sessionId)} to fork`,
      );
    case 'exists':
      throw new SessionExists(
        `to: there is a session ${shownName(to)} of this user and app already; use another id`,
      );
    case 'no place':
      throw new NoSuchPlace(
        `at: ${at} is no event of session ${shownName(sessionId)}; use a seq from 0 to ${answer.last}`,
      );
  }
}
