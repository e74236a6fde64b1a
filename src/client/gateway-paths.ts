import type { SessionNames } from '../store/sessions/session-names.ts';
import { InvalidTurn } from './client-errors.ts';
import { checkText, turnNamesOf } from './turns/turn-names.ts';

/** Values of a query; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** @throws InvalidTurn */
function userSessionsPath({ app, userId }: Pick<SessionNames, 'app' | 'userId'>, method: string): string {
  return pathOf`/v1/apps/${inPath({ app }, method)}/users/${inPath({ userId }, method)}/sessions`;
}

/** @throws InvalidTurn */
export function sessionPath(names: SessionNames, method: string): string {
  const { sessionId } = names;
  checkText({ app: names.app, userId: names.userId, sessionId }, method);
  return `${userSessionsPath(names, method)}${pathOf`/${inPath({ sessionId }, method)}`}`;
}

/** @throws InvalidTurn */
export function turnPath(names: SessionNames, messageId: string, method: string): string {
  turnNamesOf(names, messageId, method);
  return `${sessionPath(names, method)}${pathOf`/turns/${inPath({ messageId }, method)}`}`;
}

export function withQuery(path: string, query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return given.size === 0 ? path : `${path}?${given}`;
}

/** A part of a path: every URL parser takes `.` and `..` for steps, encoded too. @throws InvalidTurn */
function inPath(field: Record<string, string>, method: string): string {
  checkText(field, method);
  const [[name, value] = ['', '']] = Object.entries(field);
  if (value === '.' || value === '..') {
    throw new InvalidTurn(`${method}: ${name}: "." and ".." can't stand in a path: use another name`);
  }
  return value;
}

function pathOf(texts: TemplateStringsArray, ...parts: readonly string[]): string {
  return String.raw({ raw: texts }, ...parts.map(encodeURIComponent));
}
