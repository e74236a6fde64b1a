import type { GateKind } from '../contract/requests.ts';
import { visibleExcerpt, visibleText } from '../protocol/visible-text.ts';
import type { NotifiedRequest, NotifiedWhy } from './notifier.ts';

const LONGEST_NAME = 80;
/** Characters of a hint that a line shows, at most. */
export const LONGEST_HINT = 400;
const LONGEST_ARGUMENTS = 1_000;

export const WANTED: Readonly<Record<GateKind, string>> = {
  confirmation: 'waits for an approval',
  credential: 'waits for a credential',
  input: 'waits for an answer',
};

/**
 * The text of a request, for people: a line each, capped, and nothing in them that moves a cursor, turns text round or can't be seen.
 * It has text of models and users.
 */
export function requestLines(request: NotifiedRequest, why: NotifiedWhy): string[] {
  const { kind, tool, path, agent, hint, args, requester, until, commands, links } = request;
  const agents = (path.length > 0 ? path : [agent]).map(shortName).join(' › ');
  const session = [request.app, request.userId, request.sessionId].map(shortName).join('/');
  const isAsked = Object.keys(args).length > 0;
  return [
    `${shortName(tool)} of ${agents} ${WANTED[kind]}${why === 'escalated' ? ', and now others may decide' : ''}`,
    `session ${session}`,
    ...(hint === '' ? [] : [visibleExcerpt(hint, LONGEST_HINT)]),
    ...(isAsked ? [`arguments ${visibleExcerpt(JSON.stringify(args), LONGEST_ARGUMENTS)}`] : []),
    ...(requester === undefined ? [] : [`asked for by ${shortName(requester)}`]),
    ...(until === undefined ? [] : [`until ${new Date(until).toISOString()}`]),
    ...commands.map(visibleText),
    ...Object.values(links).map(visibleText),
  ];
}

function shortName(name: string): string {
  return visibleExcerpt(name, LONGEST_NAME);
}
