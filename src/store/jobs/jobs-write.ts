import { randomUUID } from 'node:crypto';
import type { JobMessage } from '../../protocol/job.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { UnknownJob } from '../store-errors.ts';
import { answeredJob, type JobAnswer } from './job-row.ts';
import type { EndedJob, EndJob, JobClaims, JobRow, JobStore, NewJob } from './job-store.ts';

const PARK = 'select holdfast.park_job($1, $2, $3, $4) as answer';
const DETACH = 'select holdfast.detach_job($1, $2, $3) as answer';
const AWAIT = 'select holdfast.await_job($1, $2, $3, $4, $5) as answer';
const PROGRESS = 'select holdfast.progress_job($1, $2, $3, $4) as answer';
const KEEP_ANSWER = 'select holdfast.keep_job_answer($1, $2, $3, $4)';
const RECORD_POLL = 'select holdfast.record_poll($1, $2, $3, $4) as answer';

/** A job as a write has left it. */
export interface WrittenJob {
  job: JobRow;
  /** By this write. */
  changed: boolean;
}

interface WriteAnswer {
  of: JobAnswer;
  changed: boolean;
}

export async function openJob(database: Database, job: NewJob): Promise<WrittenJob> {
  const { workflowId, runId, activityId } = job.address;
  const answer = await callFunction<WriteAnswer>(database, 'open_job', {
    ...newJob(job),
    workflow_id: workflowId,
    workflow_run_id: runId,
    activity_id: activityId,
    deadline: job.deadline,
  });
  return written(answer);
}

export async function parkJob(
  database: Database,
  { session, jobId, attempt, intermediate }: Parameters<JobStore['parkJob']>[0],
): Promise<WrittenJob | undefined> {
  const [row] = await database.query<{ answer: WriteAnswer | null }>(PARK, [
    session,
    jobId,
    attempt,
    optionalJson(intermediate),
  ]);
  return row?.answer ? written(row.answer) : undefined;
}

export async function detachJob(
  database: Database,
  { session, jobId, intermediate }: Parameters<JobStore['detachJob']>[0],
): Promise<WrittenJob> {
  const [row] = await database.query<{ answer: WriteAnswer }>(DETACH, [
    session,
    jobId,
    jsonText(intermediate),
  ]);
  return written((row as { answer: WriteAnswer }).answer);
}

export async function awaitJob(
  database: Database,
  { session, jobId, address }: Parameters<JobStore['awaitJob']>[0],
): Promise<JobRow | undefined> {
  const { workflowId, runId, activityId } = address;
  const [row] = await database.query<{ answer: Pick<WriteAnswer, 'of'> | null }>(AWAIT, [
    session,
    jobId,
    workflowId,
    runId,
    activityId,
  ]);
  return row?.answer ? answeredJob(row.answer.of) : undefined;
}

/** @throws UnknownJob */
export async function endJob(database: Database, end: EndJob): Promise<EndedJob & WrittenJob> {
  const { jobId, status, outcome, by, person, reason, claims } = end;
  type Answer = WriteAnswer & Omit<EndedJob, 'job'>;
  const answer = await callFunction<Answer | null>(database, 'end_job', {
    job_id: storableText(jobId),
    status,
    response: JsonDocument.of(outcome.response),
    failed: outcome.failed,
    ended_by: by,
    person: person === undefined ? null : storableText(person),
    reason: reason === undefined ? null : storableText(reason),
    token: randomUUID(),
    claims: claims && claimedJob(claims),
  });
  if (answer === null) throw unknown(jobId);
  const { first, repeated } = answer;
  return { ...written(answer), first, repeated };
}

/** @throws UnknownJob */
export async function progressJob(
  database: Database,
  { jobId, value, message, intermediate, claims }: Parameters<JobStore['progressJob']>[0],
): Promise<WrittenJob & { tells: boolean }> {
  const [row] = await database.query<{ answer: (WriteAnswer & { tells: boolean }) | null }>(PROGRESS, [
    storableText(jobId),
    value === undefined && message === undefined ? null : jsonText({ value, message }),
    optionalJson(intermediate),
    optionalJson(claims && claimedJob(claims)),
  ]);
  if (!row?.answer) throw unknown(jobId);
  return { ...written(row.answer), tells: row.answer.tells };
}

export async function recordPoll(
  database: Database,
  { session, jobId, error }: Parameters<JobStore['recordPoll']>[0],
): Promise<JobRow> {
  const [row] = await database.query<{ answer: Pick<WriteAnswer, 'of'> }>(RECORD_POLL, [
    session,
    jobId,
    error === undefined ? null : storableText(error),
    randomUUID(),
  ]);
  return answeredJob((row as { answer: Pick<WriteAnswer, 'of'> }).answer.of);
}

export async function keepJobAnswer(
  database: Database,
  { jobId }: { jobId: string },
  { messageId, digest, rest }: JobMessage,
): Promise<void> {
  await database.query(KEEP_ANSWER, [storableText(jobId), storableText(messageId), digest, rest]);
}

/** What `holdfast.add_job` makes a row of. */
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

function written({ of, changed }: WriteAnswer): WrittenJob {
  return { job: answeredJob(of), changed };
}

function optionalJson(value: unknown): string | null {
  return value === undefined ? null : jsonText(value);
}

function unknown(jobId: string): UnknownJob {
  return new UnknownJob(
    `job ${JSON.stringify(jobId)} is not in the store: it was never begun, or its session was deleted`,
  );
}
