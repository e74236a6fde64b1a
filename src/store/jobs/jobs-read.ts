import { sql } from 'kysely';
import type { Carried } from '../../protocol/carried.ts';
import type { JobMessage, JobStatus } from '../../protocol/job.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { checkWhole } from '../engine/whole-number.ts';
import { sessionKeys } from '../sessions/session-key.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import { ofSessions, rootOf } from '../sessions/session-tree.ts';
import { type JobColumns, jobRow } from './job-row.ts';
import type { JobRow, JobStore, ListJobs } from './job-store.ts';

const DEFAULT_LIMIT = 100;
const MOST_ROWS = 1_000;

const RUNNING: readonly JobStatus[] = ['running'];
const ENDED: readonly JobStatus[] = ['completed', 'failed', 'cancelled', 'timed_out'];

/** The step's key is the call's without its place. */
const PLANNED_ARGUMENTS = sql<Carried<Record<string, unknown>> | null>`(
  select c.value -> 'args' from holdfast.ledger l cross join lateral json_array_elements(l.outcome -> 'calls') c
  where l.session_id = j.session_id and l.key = regexp_replace(j.call_key, '\\.[0-9]+$', '')
    and c.value ->> 'callKey' = j.call_key)`;

/** Bytes of JSON, at most, of what a list tells of a job's response: a page of them fits into memory, whatever services send. */
const MOST_LISTED_BYTES = 4_096;

const LISTED = [
  ...(['j.session_id', 'j.job_id', 'j.run_key', 'j.invocation_id', 'j.call_key', 'j.call_id'] as const),
  ...(['j.tool', 'j.agent', 'j.workflow_id', 'j.workflow_run_id', 'j.activity_id', 'j.mode'] as const),
  ...(['j.status', 'j.since', 'j.until', 'j.heard_at', 'j.progress', 'j.failed', 'j.ended_at'] as const),
  ...([
    'j.ended_by',
    'j.ended_person',
    'j.reason',
    'j.delivered_seq',
    'j.not_yet',
    'j.failed_polls',
  ] as const),
  ...(['j.failed_in_a_row', 'j.poll_error', 'j.polled_at'] as const),
];

function short(column: 'j.intermediate' | 'j.response') {
  const value = sql.ref(column);
  return sql<Record<string, unknown> | null>`
    case when octet_length(${value}::text) <= ${sql.lit(MOST_LISTED_BYTES)} then ${value} end`;
}

const DELIVERY = 'select holdfast.job_delivery($1, $2) as delivery';

type Delivery = Awaited<ReturnType<JobStore['jobDelivery']>>;

export async function findJob(database: Database, jobId: string): Promise<JobRow | undefined> {
  const [row] = await database.read(
    namedJobs(database)
      .selectAll('j')
      .select(PLANNED_ARGUMENTS.as('args'))
      .where('j.job_id', '=', storableText(jobId))
      .limit(1)
      .compile(),
  );
  return row && { ...namedRow(row), ...(row.args === null ? {} : { args: row.args }) };
}

/** @throws TypeError where `limit` is no whole number */
export async function listJobs(
  database: Database,
  { app, userId, sessionId, status = RUNNING, limit = DEFAULT_LIMIT, order, after }: ListJobs,
): Promise<JobRow[]> {
  const isNewest = order === 'newest';
  const direction = isNewest ? 'desc' : 'asc';
  checkWhole('limit', limit);
  if (status.length === 0) return [];
  // The page first, then its names: else a planner may read all there is to sort it.
  let query = database.db.selectFrom('holdfast.jobs as j').selectAll('j');
  for (const isOfSession of ofSessions(database, 'j', { app, userId, sessionId })) {
    query = query.where(isOfSession);
  }
  if (status.length === 1) query = query.where('j.status', '=', status[0] as JobStatus);
  else if (ENDED.every((each) => status.includes(each)) && !status.includes('running')) {
    // As the index of those that have ended says it.
    query = query.where('j.status', '<>', sql.lit('running' as const));
  } else query = query.where('j.status', 'in', status);
  if (after !== undefined) {
    query = query.where(({ eb, refTuple, tuple }) =>
      eb(
        refTuple('j.since', 'j.job_id'),
        isNewest ? '<' : '>',
        tuple(String(after.since), storableText(after.jobId)),
      ),
    );
  }
  const page = query
    .orderBy('j.since', direction)
    .orderBy('j.job_id', direction)
    .limit(Math.min(limit, MOST_ROWS));
  const named = database.db
    .selectFrom(page.as('j'))
    .innerJoin('holdfast.sessions as o', 'o.id', 'j.session_id')
    .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
    .select(['s.app', 's.user_id', 's.name'])
    .select(LISTED)
    .select([short('j.intermediate').as('intermediate'), short('j.response').as('response')])
    .orderBy('j.since', direction)
    .orderBy('j.job_id', direction);
  return (await database.read(named.compile())).map(namedRow);
}

export async function jobDelivery(
  database: Database,
  { session, jobId }: { session: string; jobId: string },
): Promise<Delivery> {
  const [row] = await database.query<{ delivery: Delivery }>(DELIVERY, [session, jobId]);
  return (row as { delivery: Delivery }).delivery;
}

function namedJobs(database: Database) {
  return database.db
    .selectFrom('holdfast.jobs as j')
    .innerJoin('holdfast.sessions as o', 'o.id', 'j.session_id')
    .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
    .select(['s.app', 's.user_id', 's.name']);
}

type NamedRow = JobColumns & { app: string; user_id: string; name: string };

function namedRow(row: NamedRow): JobRow {
  return jobRow(row, { app: row.app, userId: row.user_id, sessionId: row.name });
}

const ANSWER = 'select a.run_key as run from holdfast.answered_run($1, $2, $3) a where a.run_key is not null';

export async function findJobAnswer(
  database: Database,
  names: SessionNames,
  { messageId, digest }: JobMessage,
): Promise<string | undefined> {
  const [row] = await database.query<{ run: string }>(ANSWER, [
    sessionKeys(names).name,
    storableText(messageId),
    digest,
  ]);
  return row?.run;
}
