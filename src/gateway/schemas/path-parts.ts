import { z } from '@hono/zod-openapi';

function part(name: string, description: string) {
  return z.string().openapi({ param: { name, in: 'path' }, description: `${description} URI-encoded.` });
}

const app = part('app', 'The app.');
const user = part('user', 'The user.');
const session = part('session', 'The session.');
const messageId = part('messageId', 'The id of the message that the turn answers.');

export const SESSION_PATH = z.object({ app, user, session });
export const TURN_PATH = z.object({ app, user, session, messageId });

export const SESSION = '/v1/apps/{app}/users/{user}/sessions/{session}';
export const TURN = `${SESSION}/turns/{messageId}` as const;

/** What the client calls a session that a path names. */
export function sessionNames({ app, user, session }: { app: string; user: string; session: string }) {
  return { app, userId: user, sessionId: session };
}
