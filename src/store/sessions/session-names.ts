import { createHash, randomBytes } from 'node:crypto';
import { Unstorable } from '../store-errors.ts';

/** The names of a session: unique in a store. */
export interface SessionNames {
  app: string;
  userId: string;
  sessionId: string;
}

const SESSION_ID_BYTES = 16;

/** 22 characters of base64url: 128 random bits. */
export function newSessionId(): string {
  return randomBytes(SESSION_ID_BYTES).toString('base64url');
}

/** Index keys of a session's names and of the scopes of `app:` and `user:` state: names of any length have one. */
export interface SessionKeys {
  name: string;
  app: string;
  user: string;
}

/** @throws Unstorable where a name has a NUL character or a lone surrogate, which PostgreSQL can't tell from others. */
export function sessionKeys({ app, userId, sessionId }: SessionNames): SessionKeys {
  for (const [field, value] of Object.entries({ app, userId, sessionId })) {
    if (!value.isWellFormed() || value.includes('\0')) {
      throw new Unstorable(
        `${field} holds a NUL character or a lone surrogate: use well-formed Unicode text`,
      );
    }
  }
  return { name: digest([app, userId, sessionId]), app: digest([app]), user: digest([app, userId]) };
}

/** The argument of `holdfast.make_session`. */
export function newSession(names: SessionNames) {
  const { name, app, user } = sessionKeys(names);
  return {
    session: newSessionId(),
    name_key: name,
    app_key: app,
    user_key: user,
    app: names.app,
    user_id: names.userId,
    name: names.sessionId,
  };
}

/** Index key of an app's name. */
export function appKey(app: string): string {
  return sessionKeys({ app, userId: '', sessionId: '' }).app;
}

function digest(names: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('base64url');
}
