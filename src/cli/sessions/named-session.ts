import { didYouMean } from '../../schema/known-fields.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { CliError, UsageError } from '../cli-error.ts';

/** Options that name the app and user of sessions. */
export interface NamingOptions {
  app?: string | undefined;
  user?: string | undefined;
}

/** User of sessions where nobody names one, here and in `holdfast run`. */
const DEFAULT_USER = 'user';

/**
 * The session that an argument names: its id, or `app/user/session` as in workflow ids. With `--app` or `--user` it is always
 * the id.
 *
 * @param apps is asked where neither says the app.
 * @throws CliError
 */
export async function namedSession(
  argument: string,
  { app, user }: NamingOptions,
  apps: () => Promise<readonly string[]>,
): Promise<SessionNames> {
  assertText('the session', argument);
  const asPath = app === undefined && user === undefined && argument.includes('/');
  if (asPath) return fromPath(argument);
  return { ...(await namedUser({ app, user }, apps)), sessionId: argument };
}

/** The user that options name. @throws CliError as {@link onlyApp}. */
export async function namedUser(
  { app, user = DEFAULT_USER }: NamingOptions,
  apps: () => Promise<readonly string[]>,
): Promise<{ app: string; userId: string }> {
  return { app: app ?? (await onlyApp(apps)), userId: user };
}

function fromPath(path: string): SessionNames {
  const parts = path.split('/');
  const [app, userId, sessionId] = parts;
  if (parts.length !== 3 || !app || !userId || !sessionId) {
    throw new UsageError(
      `${path}: expected a session's id, or app/user/session with each part URI-encoded; for an id with slashes give --app and --user too`,
    );
  }
  if (path.includes('~')) {
    throw new UsageError(
      `${path}: a part of this workflow id is shortened, so that its name can't be read from it: give --app, --user and the ` +
        "session's id; the run's search attributes have them",
    );
  }
  return { app: decoded(app, path), userId: decoded(userId, path), sessionId: decoded(sessionId, path) };
}

function decoded(part: string, path: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`${path}: ${part} is not URI-encoded: write % as %25`);
  }
}

/** @throws CliError where several apps have sessions, or none. */
export async function onlyApp(apps: () => Promise<readonly string[]>): Promise<string> {
  const [first, ...others] = await apps();
  if (first === undefined) throw new UsageError('there are no sessions; name the app with --app');
  if (others.length === 0) return first;
  throw new UsageError(`several apps have sessions: choose one with --app ${[first, ...others].join('|')}`);
}

/**
 * Of a list for people that has found nothing of an app; programs get the empty list.
 *
 * @param apps is asked for those that have sessions, or that the folder's owner serves.
 * @throws CliError where the app is none of them.
 */
export async function assertKnownApp(
  app: string | undefined,
  apps: () => Promise<readonly string[]>,
): Promise<void> {
  if (app === undefined) return;
  const known = await apps();
  if (known.includes(app)) return;
  const there = known.length === 0 ? 'no app has any' : `there are those of ${known.join(', ')}`;
  throw new CliError(
    `--app: the app ${JSON.stringify(app)} has no sessions${didYouMean(app, known)}; ${there}`,
  );
}

/** @throws CliError for text that no name can be. */
export function assertText(what: string, value: string | undefined): void {
  if (value === undefined) return;
  if (value === '') throw new UsageError(`${what}: expected text, got nothing`);
  if (!value.isWellFormed()) throw new UsageError(`${what}: expected text, got malformed Unicode`);
}
