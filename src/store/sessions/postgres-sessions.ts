import { randomUUID } from 'node:crypto';
import type { StoredEvent } from '../../contract/events.ts';
import { DEFAULT_LISTED } from '../../contract/lists.ts';
import type { GetSession, Session, SessionSummary } from '../../contract/sessions.ts';
import { defined } from '../../protocol/json.ts';
import { checkTime, checkWhole, shownName } from '../engine/arguments.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { LiveNotices } from '../live/live-notices.ts';
import { NoSuchPlace, SessionExists, SessionNotFound } from '../store-errors.ts';
import { type UsageColumns, usageOf } from '../turns/usage.ts';
import { type EventRow, eventArguments, type StateParts, stateOf, storedEvent } from './event-rows.ts';
import { sessionDeletion } from './session-deletion.ts';
import { newSession, newSessionId, type SessionNames, sessionKeys } from './session-names.ts';
import { newMarkerId, sessionRetry } from './session-retry.ts';
import type { IdleSession, SessionStore } from './session-store.ts';

const GET = 'select holdfast.get_session($1, $2, $3, $4) as session';

interface SummaryRow extends SessionNames {
  session: string;
  seq: number;
  lastAgent: string | null;
  createdAt: number;
  updatedAt: number;
  usage: UsageColumns;
  forkedFrom: { sessionId: string; seq: number } | null;
}

/** Its place in a list, microseconds since the epoch, and the session. */
type ListedRow = [at: number, summary: SummaryRow];

/** A session as the SQL functions return it. */
interface SessionRow {
  summary: SummaryRow;
  state: StateParts;
  events: EventRow[];
}

/** A session's place never changes, so that each page begins where the one before ended, also after writes meanwhile. */
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

const MOST_EVENTS = 1_000;

type AppendAnswer = { problem?: undefined; session: string; event: EventRow } | { problem: 'no session' };

const FORK = 'select holdfast.fork_session(holdfast.root_key($1), $2, $3, $4, $5) as answer';

type ForkAnswer =
  | { problem?: undefined; session: string }
  | { problem: 'no session' | 'exists' }
  | { problem: 'no place'; last: number };

const REWIND = 'select holdfast.rewind_session($1, $2, $3, $4) as answer';

type RewindAnswer =
  | { problem?: undefined; session: string; event: EventRow }
  | { problem: 'no session' }
  | { problem: 'no place'; invocations: string[] | null };

export function postgresSessions(database: Database, live: LiveNotices): SessionStore {
  const told = ({ session, event }: { session: string; event: EventRow }): StoredEvent => {
    const stored = storedEvent(event);
    live.tell({ type: 'appended', session, seq: stored.seq });
    return stored;
  };
  return {
    async create(create) {
      const { app, userId, sessionId = newSessionId(), state = {} } = create;
      const made = await callFunction<SessionRow | null>(database, 'create_session', {
        ...newSession({ app, userId, sessionId }),
        state: JsonDocument.of(state),
      });
      if (made !== null) return sessionOf(made);
      throw new SessionExists(
        `sessionId: there is a session ${shownName(sessionId)} of this user and app already; use another id, or getSession`,
      );
    },
    async list(list) {
      const { app, userId, limit = DEFAULT_LISTED, offset = 0, order = 'desc', after, withTotal } = list;
      checkWhole('limit', limit);
      checkWhole('offset', offset);
      const keys = sessionKeys({ app, userId: userId ?? '', sessionId: '' });
      const byUser = userId !== undefined;
      const [at = null, session = null] = after?.split('/') ?? [];
      const [found] = await database.query<{ page: ListedRow[] | null; total: number | null }>(
        listing(byUser ? 'user_key' : 'app_key', order === 'asc' ? 'asc' : 'desc'),
        [byUser ? keys.user : keys.app, limit + 1, offset, at, session, withTotal === true],
      );
      const rows = found?.page ?? [];
      const page = rows.slice(0, limit);
      const [last] = rows.length > limit ? page.slice(-1) : [];
      return {
        sessions: page.map(([, summary]) => summaryOf(summary)),
        ...defined({
          next: last && `${last[0]}/${last[1].session}`,
          totalItems: found?.total ?? undefined,
        }),
      };
    },
    async idleSince(app, before, limit, after) {
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
    },
    async find(names) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.sessions')
          .select(['id', 'last_seq', 'last_agent'])
          .where('name_key', '=', sessionKeys(names).name)
          .compile(),
      );
      return row && { session: row.id, seq: Number(row.last_seq), lastAgent: row.last_agent ?? undefined };
    },
    async readEvents(read) {
      const { after = 0, limit = MOST_EVENTS } = read;
      checkWhole('after', after);
      checkWhole('limit', limit);
      const [row] = await database.query<{ events: EventRow[] | null }>(
        `select holdfast.events_of(s.id, $2, $3) as events from holdfast.sessions s where s.name_key = $1`,
        [sessionKeys(read).name, after, limit],
      );
      return (row?.events ?? []).map(storedEvent);
    },
    async append(append) {
      const { event, key, sessionId } = append;
      const run = newMarkerId();
      const appended = eventArguments({ ...event, invocationId: event.invocationId || run }, 'user');
      const answer = await callFunction<AppendAnswer>(database, 'append_event', {
        name_key: sessionKeys(append).name,
        dedupe_key: storableText(`append:${key}`),
        event_id: randomUUID(),
        kind: appended.author === 'user' && event.content !== undefined ? 'message' : 'callback',
        run_key: run,
        ...appended,
      });
      if (answer.problem !== undefined) {
        throw new SessionNotFound(`sessionId: this user and app have no session ${shownName(sessionId)}`);
      }
      return told(answer);
    },
    async fork(fork) {
      const { app, userId, sessionId, at, to = newSessionId() } = fork;
      // PostgreSQL would round a fraction, and refuse what is no number: -1 is no place either.
      const place = at === undefined ? null : Number.isSafeInteger(at) ? at : -1;
      const [row] = await database.query<{ answer: ForkAnswer }>(FORK, [
        sessionKeys(fork).name,
        place,
        newSessionId(),
        sessionKeys({ app, userId, sessionId: to }).name,
        to,
      ]);
      const { answer } = row as { answer: ForkAnswer };
      switch (answer.problem) {
        case undefined: {
          const made = await getSession(database, { app, userId, sessionId: to });
          if (made?.session === answer.session) return made;
          throw new SessionNotFound(`to: session ${shownName(to)} was deleted as soon as it was forked`);
        }
        case 'no session':
          throw new SessionNotFound(
            `sessionId: this user and app have no session ${shownName(sessionId)} to fork`,
          );
        case 'exists':
          throw new SessionExists(
            `to: there is a session ${shownName(to)} of this user and app already; use another id`,
          );
        case 'no place':
          throw new NoSuchPlace(
            `at: ${at} is no event of session ${shownName(sessionId)}; use a seq from 0 to ${answer.last}`,
          );
      }
    },
    async rewind(rewind) {
      const { sessionId, beforeInvocationId } = rewind;
      const [row] = await database.query<{ answer: RewindAnswer }>(REWIND, [
        sessionKeys(rewind).name,
        storableText(beforeInvocationId),
        newMarkerId(),
        randomUUID(),
      ]);
      const { answer } = row as { answer: RewindAnswer };
      switch (answer.problem) {
        case undefined:
          return told(answer);
        case 'no session':
          throw new SessionNotFound(
            `sessionId: this user and app have no session ${shownName(sessionId)} to rewind`,
          );
        case 'no place': {
          const found = (answer.invocations ?? []).map(shownName).join(', ');
          throw new NoSuchPlace(
            `beforeInvocationId: session ${shownName(sessionId)} has no invocation ${shownName(beforeInvocationId)}, or an ` +
              `earlier rewind hides it; ${found === '' ? 'it has none' : `its latest are ${found}`}`,
          );
        }
      }
    },
    async readAudit(session) {
      const rows = await database.read(
        database.db
          .selectFrom('holdfast.audit')
          .select(['n', 'at', 'kind', 'facts', 'hash', 'content'])
          .where('session_id', '=', storableText(session))
          .orderBy('n')
          .compile(),
      );
      return rows.map(({ at, content, ...row }) => ({
        ...row,
        at: at.getTime(),
        ...(content === null ? {} : { content }),
      }));
    },
    get: (get) => getSession(database, get),
    ...sessionDeletion(database),
    ...sessionRetry(database, live),
  };
}

function sessionOf({ summary, state, events }: SessionRow): Session {
  return { ...summaryOf(summary), state: stateOf(state), events: events.map(storedEvent) };
}

function summaryOf({ lastAgent, usage, forkedFrom, ...rest }: SummaryRow): SessionSummary {
  return {
    ...rest,
    ...(lastAgent === null ? {} : { lastAgent }),
    usage: usageOf(usage),
    ...(forkedFrom === null ? {} : { forkedFrom }),
  };
}

async function getSession(database: Database, get: GetSession): Promise<Session | undefined> {
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

/** The page is found before its sessions are read: states can be large. Without a place it begins where the list does. */
function listing(key: 'app_key' | 'user_key', order: 'asc' | 'desc'): string {
  const [comes, start] = order === 'asc' ? ['>', '-infinity'] : ['<', 'infinity'];
  const listed = `from holdfast.sessions s where s.${key} = $1 and s.root_session is null`;
  return `select (
    select json_agg(json_build_array((extract(epoch from p.listed_at) * 1000000)::bigint, holdfast.summary(p.id))
      order by p.listed_at ${order}, p.id ${order})
    from (
      select s.id, s.listed_at ${listed} and (s.listed_at, s.id) ${comes}
        (coalesce(to_timestamp(0) + $4::double precision * interval '1 microsecond', '${start}'), coalesce($5, ''))
      order by s.listed_at ${order}, s.id ${order} limit $2 offset $3
    ) p
  ) as page, case when $6::boolean then (select count(*)::int ${listed}) end as total`;
}
