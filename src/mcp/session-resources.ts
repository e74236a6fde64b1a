import { InvalidTurn } from '../client/client-errors.ts';
import type { ArtifactRow } from '../contract/artifacts.ts';
import { SESSION_PLACE } from '../contract/sessions.ts';
import { textOf } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import { defined } from '../protocol/json.ts';
import { SessionNotFound } from '../store/store-errors.ts';
import type { McpCaller } from './mcp-caller.ts';

/** Sessions of a page. */
const PAGE = 100;
/** Latest events of a session that are read. */
const MOST_EVENTS = 500;
/** Bytes of an artifact, and characters of a session's events, that an answer has. */
const MOST_BYTES = 8 * 1024 * 1024;

const SESSIONS = 'holdfast://sessions/';
const JSON_TYPE = 'application/json';
/** Types whose bytes are text in UTF-8. */
const TEXT_TYPE = /^(text\/|application\/(json|xml|yaml|javascript)\b|[\w.+-]+\/[\w.+-]+\+(json|xml)\b)/i;

export function sessionUri(sessionId: string): string {
  return SESSIONS + encodeURIComponent(sessionId);
}

export function artifactUri(sessionId: string, name: string): string {
  return `${sessionUri(sessionId)}/artifacts/${encodeURIComponent(name)}`;
}

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${SESSIONS}{session}`,
    name: 'session',
    description: 'A conversation: what was said, and its artifacts.',
    mimeType: JSON_TYPE,
  },
  {
    uriTemplate: `${SESSIONS}{session}/artifacts/{name}`,
    name: 'artifact',
    description: 'The newest version of an artifact of a session.',
  },
];

/** The caller's sessions, the latest first. @param cursor as an earlier page has given it. @throws InvalidTurn */
export async function listedSessions({ api, app, userId }: McpCaller, cursor: string | undefined) {
  if (cursor !== undefined && !SESSION_PLACE.test(cursor)) {
    throw new InvalidTurn('cursor: expected what an earlier page has given as its nextCursor');
  }
  const list = { app, userId, limit: PAGE, ...defined({ after: cursor }) };
  const { sessions, next } = await api.sessions.list(list);
  return {
    resources: sessions.map(({ sessionId, updatedAt }) => ({
      uri: sessionUri(sessionId),
      name: sessionId,
      title: `Session ${sessionId}`,
      mimeType: JSON_TYPE,
      annotations: { lastModified: new Date(updatedAt).toISOString() },
    })),
    ...defined({ nextCursor: next }),
  };
}

/** @throws InvalidTurn, SessionNotFound, NoSuchArtifact */
export async function readResource(caller: McpCaller, uri: string) {
  const [sessionPart, word, namePart, ...more] = uri.startsWith(SESSIONS)
    ? uri.slice(SESSIONS.length).split('/')
    : [];
  const [sessionId, name] = [decoded(sessionPart), decoded(namePart)];
  if (sessionId !== undefined && word === undefined)
    return { contents: [await sessionOf(caller, sessionId)] };
  if (sessionId !== undefined && name !== undefined && word === 'artifacts' && more.length === 0) {
    return { contents: [await artifactOf(caller, sessionId, name)] };
  }
  throw new InvalidTurn(
    `${uri.slice(0, 200)}: expected ${SESSIONS}{session} or ${SESSIONS}{session}/artifacts/{name}`,
  );
}

function decoded(part: string | undefined): string | undefined {
  if (part === undefined || part === '') return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

async function sessionOf({ api, app, userId }: McpCaller, sessionId: string) {
  const names = { app, userId, sessionId };
  const session = await api.sessions.get({ ...names, numRecentEvents: MOST_EVENTS });
  if (session === undefined) throw new SessionNotFound(`there is no session ${sessionId}`);
  const { artifacts, next } = await api.artifacts.list(names);
  const said = session.events.flatMap(({ event }) => shownEvent(event));
  const events = latestOf(said);
  const text = JSON.stringify({
    session: sessionId,
    ...(events.length < said.length ? { earlierEvents: true } : {}),
    events,
    artifacts: artifacts.map((row) => shownArtifact(sessionId, row)),
    ...(next === undefined ? {} : { moreArtifacts: true }),
  });
  return { uri: sessionUri(sessionId), mimeType: JSON_TYPE, text };
}

/** As many of the last ones as an answer may have. */
function latestOf<T>(events: readonly T[]): readonly T[] {
  let left = MOST_BYTES;
  const tooMuch = events.findLastIndex((event) => {
    left -= JSON.stringify(event).length;
    return left < 0;
  });
  return events.slice(tooMuch + 1);
}

function shownEvent({ author, content, timestamp, errorMessage }: Event) {
  const text = textOf(content, '\n') || undefined;
  if (text === undefined && errorMessage === undefined) return [];
  return [{ at: new Date(timestamp).toISOString(), ...defined({ author, text, error: errorMessage }) }];
}

function shownArtifact(sessionId: string, { name, version, mimeType, size }: ArtifactRow) {
  return { uri: artifactUri(sessionId, name), name, version, ...defined({ mimeType, size }) };
}

async function artifactOf({ api, app, userId }: McpCaller, sessionId: string, name: string) {
  const unread = new AbortController();
  const file = await api.artifacts.get({ app, userId, sessionId, name, signal: unread.signal });
  const { size, mimeType = 'application/octet-stream' } = file;
  if (size > MOST_BYTES) {
    unread.abort();
    throw new InvalidTurn(
      `${name} has ${size} bytes, and an answer at most ${MOST_BYTES}: download it through the HTTP gateway`,
    );
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.bytes) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  return { uri: artifactUri(sessionId, name), mimeType, ...resourceBody(mimeType, bytes.toString('base64')) };
}

/** The bytes of a resource as MCP has them: text, or base64. */
export function resourceBody(mimeType: string, base64: string): { text: string } | { blob: string } {
  return TEXT_TYPE.test(mimeType)
    ? { text: Buffer.from(base64, 'base64').toString('utf8') }
    : { blob: base64 };
}

/** Links to the artifacts that events have saved, each once. */
export function artifactLinks(sessionId: string, events: readonly Event[]) {
  const names = new Set(events.flatMap(({ actions }) => Object.keys(actions.artifactDelta ?? {})));
  return [...names].map((name) => ({
    type: 'resource_link' as const,
    uri: artifactUri(sessionId, name),
    name,
  }));
}
