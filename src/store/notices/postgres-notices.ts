import type { Selectable } from 'kysely';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import type { Tables } from '../engine/tables.ts';
import type { DeadNotice, NoticeStore } from './notice-store.ts';

type DeadNoticeRow = Selectable<Tables['holdfast.dead_notices']>;

const KEEP = `insert into holdfast.notice_notes as n (notifier, request_id, session_id, place, value)
select $1, $2, s.id, $4, $5 from holdfast.sessions s where s.id = $3
  and not exists (select 1 from holdfast.notice_notes o where o.notifier = $1 and o.place = $4 and o.request_id <> $2)
on conflict on constraint notice_notes_pkey
  do update set place = coalesce(excluded.place, n.place), value = excluded.value
returning 1`;

const BEGIN = `insert into holdfast.notice_notes as n (notifier, request_id, session_id, telling_until)
select $1, $2, s.id, clock_timestamp() + $4 * interval '1 millisecond' from holdfast.sessions s where s.id = $3
on conflict on constraint notice_notes_pkey
  do update set telling_until = greatest(n.telling_until, excluded.telling_until) where not n.ended
returning 1`;

const END =
  'update holdfast.notice_notes n set telling_until = null where n.notifier = $1 and n.request_id = $2';

const BEGIN_END = `insert into holdfast.notice_notes as n (notifier, request_id, session_id, ended)
select $1, $2, s.id, true from holdfast.sessions s where s.id = $3
on conflict on constraint notice_notes_pkey do update set ended = true
returning coalesce(n.telling_until > clock_timestamp(), false) as telling`;

const INSERT_DEAD_LETTER = `insert into holdfast.dead_notices as d
  (notice_id, notifier, app, session_id, request_id, why, error, attempts, input)
select $1, $2, $3, s.id, $5, $6, $7, $8, $9 from holdfast.sessions s where s.id = $4
on conflict (notice_id) do update set error = excluded.error, attempts = excluded.attempts, input = excluded.input,
  died_at = excluded.died_at`;

// Compared in the precision of a reader's times: a dead letter of the same millisecond as the last one is neither skipped nor
// repeated.
const LIST = `select * from holdfast.dead_notices d
where ($1::text is null or d.app = $1) and ($2::double precision is null or
  (d.died_at >= to_timestamp($2 / 1000) and
  (date_trunc('milliseconds', d.died_at), d.notice_id) > (to_timestamp($2 / 1000), $3::text collate "C")))
order by date_trunc('milliseconds', d.died_at), d.notice_id limit $4`;

const NAMED = `select * from holdfast.dead_notices d where right(d.notice_id, length($1::text)) = $1
order by d.notice_id limit 2`;

const DROP = `delete from holdfast.dead_notices d
where d.notice_id = $1 and date_trunc('milliseconds', d.died_at) = to_timestamp($2::double precision / 1000) returning 1`;

export function postgresNotices(database: Database): NoticeStore {
  return {
    async noteOf({ notifier, requestId }) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.notice_notes')
          .select('value')
          .where('notifier', '=', storableText(notifier))
          .where('request_id', '=', storableText(requestId))
          .compile(),
      );
      return row?.value ?? undefined;
    },
    async saveNote({ notifier, requestId, session, value, place }) {
      const kept = await database.query(KEEP, [
        storableText(notifier),
        storableText(requestId),
        session,
        place === undefined ? null : storableText(place),
        jsonText(value),
      ]);
      return kept.length > 0;
    },
    async findNote(notifier, place) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.notice_notes')
          .select(['session_id', 'request_id', 'value'])
          .where('notifier', '=', storableText(notifier))
          .where('place', '=', storableText(place))
          .compile(),
      );
      return row && { session: row.session_id, requestId: row.request_id, value: row.value };
    },
    async beginNotifying({ notifier, requestId, session, time }) {
      const begun = await database.query(BEGIN, [
        storableText(notifier),
        storableText(requestId),
        session,
        time,
      ]);
      return begun.length > 0;
    },
    async endNotifying({ notifier, requestId }) {
      await database.query(END, [storableText(notifier), storableText(requestId)]);
    },
    async beginNotifyingEnd({ notifier, requestId, session }) {
      const [row] = await database.query<{ telling: boolean }>(BEGIN_END, [
        storableText(notifier),
        storableText(requestId),
        session,
      ]);
      return row?.telling !== true;
    },
    async addDeadNotice(notice) {
      const { noticeId, notifier, app, session, requestId, why, error, attempts, input, taskQueue } = notice;
      await database.query(INSERT_DEAD_LETTER, [
        ...[noticeId, storableText(notifier), storableText(app), session, storableText(requestId)],
        ...[why, storableText(error), attempts, jsonText({ notice: input, taskQueue })],
      ]);
    },
    async listDeadNotices({ app, limit = 100, after } = {}) {
      const rows = await database.query<DeadNoticeRow>(LIST, [
        app === undefined ? null : storableText(app),
        after === undefined ? null : after.diedAt,
        after === undefined ? null : storableText(after.noticeId),
        limit,
      ]);
      return rows.map(deadNotice);
    },
    async deadNoticesNamed(end) {
      return (await database.query<DeadNoticeRow>(NAMED, [storableText(end)])).map(deadNotice);
    },
    async findDeadNotice(noticeId) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.dead_notices')
          .selectAll()
          .where('notice_id', '=', storableText(noticeId))
          .compile(),
      );
      return row && deadNotice(row);
    },
    /** Another one of this id, which has died since, stays. */
    async dropDeadNotice({ noticeId, diedAt }) {
      const dropped = await database.query(DROP, [storableText(noticeId), diedAt]);
      return dropped.length > 0;
    },
  };
}

function deadNotice(row: DeadNoticeRow): DeadNotice {
  return {
    noticeId: row.notice_id,
    notifier: row.notifier,
    app: row.app,
    session: row.session_id,
    requestId: row.request_id,
    why: row.why,
    error: row.error,
    attempts: row.attempts,
    input: row.input.notice,
    taskQueue: row.input.taskQueue,
    diedAt: row.died_at.getTime(),
  };
}
