import type { JobEnder, JobProgress, JobRow, JobStatus } from '../../contract/jobs.ts';
import { bigint, boolean, integer, json, orNull, rowReader, type StoredRow, text } from '../engine/row.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { JobAddress, JobOfMessage } from './job-store.ts';

type Json = Record<string, unknown>;

/** The columns of `holdfast.jobs` that a job's fields come from, in the order of the fields. */
export const JOB_COLUMNS = {
  session_id: text('session'),
  job_id: text(),
  run_key: text(),
  invocation_id: text(),
  call_key: text(),
  call_id: text(),
  tool: text(),
  agent: text(),
  workflow_id: orNull(text('address.workflowId')),
  workflow_run_id: orNull(text('address.runId')),
  activity_id: orNull(text('address.activityId')),
  status: text<JobStatus>(),
  mode: text<JobRow['mode']>(),
  since: bigint(),
  until: bigint(),
  heard_at: orNull(bigint()),
  progress: orNull(json<JobProgress>()),
  intermediate: orNull(json<Json>()),
  response: orNull(json<Json, 'outcome.response'>('outcome.response')),
  failed: orNull(boolean('outcome.failed')),
  ended_at: orNull(bigint()),
  ended_by: orNull(text<JobEnder>()),
  ended_person: orNull(text('endedByPerson')),
  reason: orNull(text()),
  delivered_seq: orNull(bigint()),
  not_yet: integer('polls.notYet'),
  failed_polls: integer('polls.failed'),
  failed_in_a_row: integer('polls.failedInARow'),
  poll_error: orNull(text('polls.lastError')),
  polled_at: orNull(bigint('polls.lastAt')),
};
const readJob = rowReader(JOB_COLUMNS);

export type JobColumns = StoredRow<typeof JOB_COLUMNS>;

/** A job as the functions of `holdfast` answer it. */
export interface JobWithNames {
  job: JobColumns;
  names: [app: string, userId: string, sessionId: string];
}

/** A job as followers get it. */
export type JobNews = Pick<JobRow, 'runKey' | 'callKey' | 'tool' | 'jobId' | 'status' | 'mode'> & {
  progress?: JobProgress | null;
};

/** As a statement answers it. */
export type JobOfMessageAnswer = Omit<JobOfMessage, 'address'> & { address: JobAddress | null };

export function jobOfMessage({ address, ...job }: JobOfMessageAnswer): JobOfMessage {
  return { ...job, ...(address === null ? {} : { address }) };
}

export function answeredJob({ job, names: [app, userId, sessionId] }: JobWithNames): JobRow {
  return jobRow(job, { app, userId, sessionId });
}

export function jobRow(row: JobColumns, names: SessionNames): JobRow {
  const { session, ...job } = readJob(row);
  type Every = Record<Exclude<keyof JobRow, 'args'>, unknown> & {
    polls: Record<keyof JobRow['polls'], unknown>;
  };
  return { session, ...names, ...job } satisfies Every;
}
