import type { Handlers } from '../../contract/operation.ts';
import type { forkSession, getSession, listAppSessions, listUserSessions } from '../../contract/sessions.ts';
import { type StoredContext, storeOf } from '../stored-context.ts';

type Reads = typeof getSession | typeof listUserSessions | typeof listAppSessions | typeof forkSession;

/** Performs what needs the store only; loads nothing of Temporal. */
export const storedSessions: Handlers<Reads, StoredContext> = {
  'sessions.get': async (get, context) => await storeOf(context, 'sessions.get').sessions.get(get),
  'sessions.list': async (list, context) => await storeOf(context, 'sessions.list').sessions.list(list),
  'sessions.fork': async (fork, context) => await storeOf(context, 'sessions.fork').sessions.fork(fork),
};
