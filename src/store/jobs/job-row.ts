import type { JobEnder, JobProgress, JobRow, JobStatus } from '../../contract/jobs.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { JobAddress, JobOfMessage } from './job-store.ts';

/** A row of `holdfast.jobs`, as a query or as JSON gives it: only the latter has numbers for its times and seqs. */
export interface JobColumns {
  session_id: string;
  job_id: string;
  run_key: string;
  invocation_id: string;
  call_key: string;
  call_id: string;
  tool: string;
  agent: string;
  workflow_id: string | null;
  workflow_run_id: string | null;
  activity_id: string | null;
  mode: JobRow['mode'];
  status: JobStatus;
  since: number | string;
  until: number | string;
  heard_at: number | string | null;
  progress: JobProgress | null;
  intermediate: Record<string, unknown> | null;
  response: Record<string, unknown> | null;
  failed: boolean | null;
  ended_at: number | string | null;
  ended_by: JobEnder | null;
  ended_person: string | null;
  reason: string | null;
  delivered_seq: number | string | null;
  not_yet: number;
  failed_polls: number;
  failed_in_a_row: number;
  poll_error: string | null;
  polled_at: number | string | null;
}

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

export function jobRow(row: JobColumns, { app, userId, sessionId }: SessionNames): JobRow {
  return {
    session: row.session_id,
    app,
    userId,
    sessionId,
    jobId: row.job_id,
    runKey: row.run_key,
    invocationId: row.invocation_id,
    callKey: row.call_key,
    callId: row.call_id,
    tool: row.tool,
    agent: row.agent,
    ...given('address', addressOf(row)),
    status: row.status,
    mode: row.mode,
    since: Number(row.since),
    until: Number(row.until),
    ...given('heardAt', numberOf(row.heard_at)),
    ...given('progress', row.progress),
    ...given('intermediate', row.intermediate),
    ...given('outcome', row.response && { response: row.response, failed: row.failed ?? false }),
    ...given('endedAt', numberOf(row.ended_at)),
    ...given('endedBy', row.ended_by),
    ...given('endedByPerson', row.ended_person),
    ...given('reason', row.reason),
    ...given('deliveredSeq', numberOf(row.delivered_seq)),
    polls: {
      notYet: row.not_yet,
      failed: row.failed_polls,
      failedInARow: row.failed_in_a_row,
      ...given('lastError', row.poll_error),
      ...given('lastAt', numberOf(row.polled_at)),
    },
  };
}

function addressOf(row: JobColumns): JobRow['address'] | null {
  const { workflow_id: workflowId, workflow_run_id: runId, activity_id: activityId } = row;
  if (workflowId === null || runId === null || activityId === null) return null;
  return { workflowId, runId, activityId };
}

function given<Field extends string, Value>(
  field: Field,
  value: Value | null | undefined,
): { [key in Field]?: NonNullable<Value> } {
  return (value === null || value === undefined ? {} : { [field]: value }) as {
    [key in Field]?: NonNullable<Value>;
  };
}

function numberOf(value: number | string | null): number | null {
  return value === null ? null : Number(value);
}
