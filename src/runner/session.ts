import type { Session as StoredSession } from '../contract/sessions.ts';
import type { Event } from '../events/event.ts';

/** A conversation, as it was when it was read. Fields: `Session` of `@google/adk` 2.0.0. */
export interface Session {
  id: string;
  appName: string;
  userId: string;
  /** Session's, `app:` and `user:` state; keys carry their prefixes. */
  state: Record<string, unknown>;
  events: Event[];
  /** Milliseconds since the epoch. */
  lastUpdateTime: number;
}

/** Fills in what `params` lacks. Semantics: `createSession` of `@google/adk` 2.0.0. */
export function createSession(params: Partial<Session> & { id: string; appName: string }): Session {
  const { id, appName, userId, state, events, lastUpdateTime } = params;
  return {
    id,
    appName,
    userId: userId || '',
    state: state ?? {},
    events: events ?? [],
    lastUpdateTime: lastUpdateTime || 0,
  };
}

export function sessionOfStored(stored: StoredSession): Session {
  return createSession({
    id: stored.sessionId,
    appName: stored.app,
    userId: stored.userId,
    state: stored.state,
    events: stored.events.map(({ event }) => event),
    lastUpdateTime: stored.updatedAt,
  });
}
