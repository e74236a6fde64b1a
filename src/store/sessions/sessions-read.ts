import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { shownName } from '../engine/shown-name.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { checkTime, checkWhole } from '../engine/whole-number.ts';
import type { SessionNames } from '../store.ts';
import { SessionExists } from '../store-errors.ts';
import { type UsageColumns, usageOf } from '../turns/usage-columns.ts';
import { newSession, newSessionId, sessionKeys } from './session-key.ts';
import type {
  CreateSession,
  GetSession,
  IdleSession,
  ListedSessions,
  ListSessions,
  Session,
  SessionPlace,
  SessionSummary,
} from './session-store.ts';
import { type StateParts, stateOf } from './state-parts.ts';
import { type EventRow, storedEvent } from './stored-event.ts';

const GET = 'select holdfast.get_session($1, $2, $3, $4) as session';

const DEFAULT_PAGE = 100;

interface SummaryRow extends SessionNames {
  session: string;
  seq: number;
  lastAgent: string | null;
  createdAt: number;
  updatedAt: number;
  usage: UsageColumns;
  forkedFrom: { sessionId: string; seq: number } | null;
}

/** A session as the SQL functions return it. */
export interface SessionRow {
  summary: SummaryRow;
  state: StateParts;
  events: EventRow[];
}

export function sessionOf({ summary, state, events }: SessionRow): Session {
  return { ...summaryOf(summary), state: stateOf(state), events: events.map(storedEvent) };
}

function summaryOf({ lastAgent, usage, forkedFrom, ...rest }: SummaryRow): SessionSummary {
  return {
    ...rest,
    lastAgent: lastAgent ?? undefined,
    usage: usageOf(usage),
    ...(forkedFrom === null ? {} : { forkedFrom }),
  };
}

export async function createSession(database: Database, create: CreateSession): Promise<Session> {
  const { app, userId, sessionId = newSessionId(), state = {} } = create;
  const made = await callFunction<SessionRow | null>(database, 'create_session', {
    ...newSession({ app, userId, sessionId }),
    state: JsonDocument.of(state),
  });
  if (made !== null) return sessionOf(made);
  throw new SessionExists(
    `sessionId: there is a session ${shownName(sessionId)} of this user and app already; use another id, or getSession`,
  );
}

export async function getSession(database: Database, get: GetSession): Promise<Session | undefined> {
  const { after, afterTimestamp, numRecentEvents } = get;
  checkWhole('after', after);
  checkWhole('numRecentEvents', numRecentEvents);
  checkTime('afterTimestamp', afterTimestamp);
  const [row] = await database.query<{ session: SessionRow | null }>(GET, [
    sessionKeys(get).name,
    after ?? 0,
    afterTimestamp ?? null,
    numRecentEvents ?? null,
  ]);
  return row?.session ? sessionOf(row.session) : undefined;
}

export async function listSessions(database: Database, list: ListSessions): Promise<ListedSessions> {
  const { app, userId, limit = DEFAULT_PAGE, offset = 0, order = 'desc' } = list;
  checkWhole('limit', limit);
  checkWhole('offset', offset);
  const keys = sessionKeys({ app, userId: userId ?? '', sessionId: '' });
  const byUser = userId !== undefined;
  const [row] = await database.query<{ total: number; page: SummaryRow[] | null }>(
    listing(byUser ? 'user_key' : 'app_key', order === 'asc' ? 'asc' : 'desc'),
    [byUser ? keys.user : keys.app, limit, offset],
  );
  return { sessions: (row?.page ?? []).map(summaryOf), totalItems: row?.total ?? 0 };
}

/** The page is found before its sessions are read: states can be large. */
function listing(key: 'app_key' | 'user_key', order: 'asc' | 'desc'): string {
  return `with found as materialized (
    select s.id, s.updated_at from holdfast.sessions s where s.${key} = $1 and s.root_session is null
  ) select (select count(*)::int from found) as total, (
    select json_agg(holdfast.summary(p.id) order by p.updated_at ${order}, p.id ${order})
    from (select f.id, f.updated_at from found f order by f.updated_at ${order}, f.id ${order} limit $2 offset $3) p
  ) as page`;
}

/** A session's place never changes, so that each page begins where the one before ended, whatever was written meanwhile. */
const IDLE = `select s.id as session, s.app, s.user_id as "userId", s.name as "sessionId",
  (extract(epoch from s.created_at) * 1000)::double precision as "createdAt"
from holdfast.sessions s
where s.app_key = $1 and s.root_session is null and s.updated_at < to_timestamp($2::double precision / 1000)
  and (s.created_at, s.id) <
    (coalesce(to_timestamp(0) + $4::double precision * interval '1 millisecond', 'infinity'), coalesce($5, ''))
  and not exists (
    select from holdfast.sessions f
    where f.parent_id = s.id and f.updated_at >= to_timestamp($2::double precision / 1000))
order by s.created_at desc, s.id desc limit $3`;

export async function sessionsIdleSince(
  database: Database,
  app: string,
  before: number,
  limit: number,
  after?: SessionPlace,
): Promise<IdleSession[]> {
  checkTime('before', before);
  checkWhole('limit', limit);
  if (after !== undefined) checkTime('after.createdAt', after.createdAt);
  const { app: key } = sessionKeys({ app, userId: '', sessionId: '' });
  return await database.query<IdleSession>(IDLE, [
    key,
    before,
    limit,
    after?.createdAt ?? null,
    after === undefined ? null : storableText(after.session),
  ]);
}
