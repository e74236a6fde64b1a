import type { SessionNames } from '../sessions/session-names.ts';

/** What followers follow, as processes agree on it: a session by its id, or the turns of whichever has some names. */
export type Topic = { session: string } | { names: SessionNames };

export function topicText(topic: Topic): string {
  if ('session' in topic) return topic.session;
  const { app, userId, sessionId } = topic.names;
  // Ids hold no NUL, so that no session's text is that of names.
  return [app, userId, sessionId].join('\0');
}
