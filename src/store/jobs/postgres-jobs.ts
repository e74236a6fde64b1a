import { randomUUID } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type { JobRow, JobStatus } from '../../contract/jobs.ts';
import { DEFAULT_JOB_STATUS, DEFAULT_LISTED } from '../../contract/lists.ts';
import { defined } from '../../protocol/json.ts';
import type { Carried } from '../../protocol/sizes.ts';
import { checkWhole } from '../engine/arguments.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { columnsOf } from '../engine/row.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { Tables } from '../engine/tables.ts';
import type { LiveNotices } from '../live/live-notices.ts';
import { sessionKeys } from '../sessions/session-names.ts';
import { firstRows, listedBySessions, rootOf } from '../sessions/session-tree.ts';
import { StoreError } from '../store-errors.ts';
import { answeredJob, JOB_COLUMNS, type JobColumns, type JobWithNames, jobRow } from './job-row.ts';
import type { EndReceipt, JobClaims, JobStore } from './job-store.ts';

const PARK = 'select holdfast.park_job($1, $2, $3, $4) as answer';
const RESUME = 'select holdfast.resume_job($1, $2) as answer';
const DETACH = 'select holdfast.detach_job($1, $2, $3) as answer';
const AWAIT = 'select holdfast.await_job($1, $2, $3, $4, $5) as answer';
const PROGRESS = 'select holdfast.progress_job($1, $2, $3, $4) as answer';
const KEEP_ANSWER = 'select holdfast.keep_job_answer($1, $2, $3, $4)';
const RECORD_POLL = 'select holdfast.record_poll($1, $2, $3, $4) as answer';

interface WriteAnswer {
  of: JobWithNames;
  /** By this write. */
  changed: boolean;
}

const RUNNING: readonly JobStatus[] = [DEFAULT_JOB_STATUS];

/** The step's key is the call's without its place. */
const PLANNED_ARGUMENTS = sql<Carried<Record<string, unknown>> | null>`(
  select c.value -> 'args' from holdfast.ledger l cross join lateral json_array_elements(l.outcome -> 'calls') c
  where l.session_id = j.session_id and l.key = regexp_replace(j.call_key, '\\.[0-9]+$', '')
    and c.value ->> 'callKey' = j.call_key)`;

/** Bytes of JSON, at most, of what a list tells of a job's response: a page of them fits into memory, for any size of services' results. */
const MOST_LISTED_BYTES = 4_096;

const LISTED = columnsOf(JOB_COLUMNS, 'j', ['intermediate', 'response']);

const DELIVERY = 'select holdfast.job_delivery($1, $2) as delivery';

type Delivery = Awaited<ReturnType<JobStore['delivery']>>;

type NamedRow = JobColumns & { app: string; user_id: string; name: string };

const ANSWER = 'select a.run_key as run from holdfast.answered_run($1, $2, $3) a where a.run_key is not null';

export function postgresJobs(database: Database, live: LiveNotices): JobStore {
  /** The job as a write has left it; followers hear of what it changed. */
  const told = ({ of, changed }: WriteAnswer): JobRow => {
    const job = answeredJob(of);
    if (changed) live.tellJobs(job.session, [job]);
    return job;
  };
  return {
    async open(job) {
      const { workflowId, runId, activityId } = job.address;
      const answer = await callFunction<WriteAnswer>(database, 'open_job', {
        ...newJob(job),
        workflow_id: workflowId,
        workflow_run_id: runId,
        activity_id: activityId,
        deadline: job.deadline,
      });
      return told(answer);
    },
    async park({ session, jobId, attempt, intermediate }) {
      const [row] = await database.query<{ answer: WriteAnswer | null }>(PARK, [
        session,
        jobId,
        attempt,
        optionalJson(intermediate),
      ]);
      return row?.answer ? told(row.answer) : undefined;
    },
    async resume({ session, jobId }) {
      const [row] = await database.query<{ answer: WriteAnswer }>(RESUME, [session, jobId]);
      return told((row as { answer: WriteAnswer }).answer);
    },
    async detach({ session, jobId, intermediate }) {
      const [row] = await database.query<{ answer: WriteAnswer }>(DETACH, [
        session,
        jobId,
        jsonText(intermediate),
      ]);
      return told((row as { answer: WriteAnswer }).answer);
    },
    async await({ session, jobId, address }) {
      const { workflowId, runId, activityId } = address;
      const [row] = await database.query<{ answer: Pick<WriteAnswer, 'of'> | null }>(AWAIT, [
        session,
        jobId,
        workflowId,
        runId,
        activityId,
      ]);
      return row?.answer ? answeredJob(row.answer.of) : undefined;
    },
    /** @throws HOLDFAST_UNKNOWN_JOB */
    async end(end) {
      const { jobId, outcome, by, claims, ...said } = end;
      type Answer = WriteAnswer & Omit<EndReceipt, 'job'>;
      const answer = await callFunction<Answer | null>(database, 'end_job', {
        ...Object.fromEntries(
          Object.entries(defined(said)).map(([name, text]) => [name, storableText(text)]),
        ),
        job_id: storableText(jobId),
        response: JsonDocument.of(outcome.response),
        failed: outcome.failed,
        ended_by: by,
        token: randomUUID(),
        claims: claims && claimedJob(claims),
      });
      if (answer === null) throw unknown(jobId);
      const { first, repeated } = answer;
      return { job: told(answer), first, repeated };
    },
    /** @throws HOLDFAST_UNKNOWN_JOB */
    async progress({ jobId, value, message, intermediate, claims }) {
      const [row] = await database.query<{ answer: (WriteAnswer & { tells: boolean }) | null }>(PROGRESS, [
        storableText(jobId),
        value === undefined && message === undefined ? null : jsonText({ value, message }),
        optionalJson(intermediate),
        optionalJson(claims && claimedJob(claims)),
      ]);
      if (!row?.answer) throw unknown(jobId);
      return { job: told(row.answer), tells: row.answer.tells };
    },
    async recordPoll({ session, jobId, error }) {
      const [row] = await database.query<{ answer: Pick<WriteAnswer, 'of'> }>(RECORD_POLL, [
        session,
        jobId,
        error === undefined ? null : storableText(error),
        randomUUID(),
      ]);
      return answeredJob((row as { answer: Pick<WriteAnswer, 'of'> }).answer.of);
    },
    async keepAnswer({ jobId }, { messageId, digest, rest }) {
      await database.query(KEEP_ANSWER, [storableText(jobId), storableText(messageId), digest, rest]);
    },
    async find(jobId) {
      const [row] = await database.read(
        namedJobs(database)
          .selectAll('j')
          .select(PLANNED_ARGUMENTS.as('args'))
          .where('j.job_id', '=', storableText(jobId))
          .limit(1)
          .compile(),
      );
      return row && { ...namedRow(row), ...(row.args === null ? {} : { args: row.args }) };
    },
    /** @throws TypeError where `limit` is no whole number */
    async list({ status = RUNNING, limit = DEFAULT_LISTED, order, after, ...whose } = {}) {
      checkWhole('limit', limit);
      if (status.length === 0) return [];
      const listed = await listedBySessions(database, whose);
      const page = firstRows<Selectable<Tables['holdfast.jobs']>>('holdfast.jobs', {
        ...listed,
        among: {
          ...listed.among,
          status,
        },
        id: 'job_id',
        after: after && { since: after.since, id: after.jobId },
        ...{ order, limit },
      });
      // The page first, then its names: else a planner may read all there is to sort it.
      const direction = order === 'newest' ? 'desc' : 'asc';
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
    },
    async delivery({ session, jobId }) {
      const [row] = await database.query<{ delivery: Delivery }>(DELIVERY, [session, jobId]);
      return (row as { delivery: Delivery }).delivery;
    },
    async findAnswer(names, { messageId, digest }) {
      const [row] = await database.query<{ run: string }>(ANSWER, [
        sessionKeys(names).name,
        storableText(messageId),
        digest,
      ]);
      return row?.run;
    },
  };
}

/** The argument of `holdfast.add_job`. */
function newJob(job: Omit<JobClaims, 'until'>) {
  return {
    session: job.session,
    job_id: job.jobId,
    run_key: job.runKey,
    call_key: job.callKey,
    call_id: storableText(job.callId),
    tool: storableText(job.tool),
    agent: storableText(job.agent),
  };
}

function claimedJob(claims: JobClaims) {
  return { ...newJob(claims), until: claims.until };
}

function optionalJson(value: unknown): string | null {
  return value === undefined ? null : jsonText(value);
}

function unknown(jobId: string): StoreError {
  return new StoreError(
    'HOLDFAST_UNKNOWN_JOB',
    `job ${JSON.stringify(jobId)} is not in the store: it was never begun, or its session was deleted`,
  );
}

function short(column: 'j.intermediate' | 'j.response') {
  const value = sql.ref(column);
  return sql<Record<string, unknown> | null>`
    case when octet_length(${value}::text) <= ${sql.lit(MOST_LISTED_BYTES)} then ${value} end`;
}

function namedJobs(database: Database) {
  return database.db
    .selectFrom('holdfast.jobs as j')
    .innerJoin('holdfast.sessions as o', 'o.id', 'j.session_id')
    .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
    .select(['s.app', 's.user_id', 's.name']);
}

function namedRow(row: NamedRow): JobRow {
  return jobRow(row, { app: row.app, userId: row.user_id, sessionId: row.name });
}
