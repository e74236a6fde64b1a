import { isDeepStrictEqual } from 'node:util';
import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'vitest';
import type { JobOutcome, JobRow, JobStatus } from '../../src/contract/jobs.ts';
import type { FunctionResponse } from '../../src/events/content.ts';
import { getFunctionCalls, getFunctionResponses } from '../../src/events/event.ts';
import { jobWorkflowIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import type { ToolJobStatus } from '../../src/protocol/job.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { JobNote } from '../setup/job-service.ts';
import type { JobStage } from '../setup/job-stage.ts';
import { isClosing, seenByModel } from './model.ts';

export const STATUSES = ['running', 'completed', 'failed', 'cancelled', 'timed_out'] as const;

/** What somebody was answered who has said something of a job. */
export interface Answered {
  jobId: string;
  who: string;
  /** Of the receipt. */
  status: string;
  job?: JobStatus;
  outcome?: JobOutcome;
}

/** All that is left of a job. */
export interface JobEvidence {
  row: JobRow;
  n: number;
  /** Of its call, in the transcript. */
  responses: FunctionResponse[];
  /** How many of them stand before the message that closes the session; all without one. */
  beforeClosing: number;
  /** Of its call, in what the model was sent last. */
  seen: FunctionResponse[];
  notes: JobNote[];
  /** Of the workflow that waited for it where no call did. */
  workflow?: { open: boolean; status?: ToolJobStatus };
}

/** @param closing the session's last message was that. */
export async function gatherJobs(
  stage: JobStage,
  names: SessionNames,
  closing = false,
): Promise<JobEvidence[]> {
  const { store, gemini, service } = stage;
  const rows = await store.jobs.list({ ...names, status: STATUSES, limit: 1_000 });
  const events = await store.sessions.readEvents({ ...names, limit: Number.MAX_SAFE_INTEGER });
  const calls = events.flatMap(({ event }) => getFunctionCalls(event));
  const responses = events.flatMap(({ seq, event }) =>
    getFunctionResponses(event).map((response) => ({ seq, response })),
  );
  const closed = closing ? events.findLast(({ event }) => isClosing(event.content))?.seq : undefined;
  const seen = seenByModel(gemini, names.sessionId, closing ? names.sessionId : undefined);
  const notes = service.notes();
  const gathered: JobEvidence[] = [];
  for (const row of rows) {
    const n = Number(calls.find(({ id }) => id === row.callId)?.args?.n);
    const own = responses.filter(({ response: { id } }) => id === row.callId);
    const workflow = row.mode === 'detached' ? await workflowOf(stage, row) : undefined;
    gathered.push({
      row,
      n,
      responses: own.map(({ response }) => response),
      beforeClosing: own.filter(({ seq }) => closed === undefined || seq < closed).length,
      seen: seen.get(n) ?? [],
      notes: notes.filter(({ jobId }) => jobId === row.jobId),
      ...(workflow === undefined ? {} : { workflow }),
    });
  }
  return gathered;
}

/** Waits until nothing of a session goes on any more. */
export async function untilAtRest(stage: JobStage, names: SessionNames): Promise<void> {
  const { store, temporal } = stage;
  const turns = temporal.workflow.getHandle(workflowIdOf(names.app, names.userId, names.sessionId));
  await expect
    .poll(
      async () => {
        const rows = await store.jobs.list({ ...names, status: STATUSES, limit: 1_000 });
        const { status } = await turns.describe();
        const inbox = await store.messages.readInbox(names);
        const jobs = rows.flatMap((row) => (row.status === 'running' ? [row.jobId] : []));
        const workflows: string[] = [];
        for (const row of rows) {
          if (row.mode !== 'detached') continue;
          if ((await workflowOf(stage, row, false))?.open) workflows.push(row.jobId);
        }
        return { turn: status.name === 'RUNNING', inbox: inbox.length, jobs, workflows };
      },
      { timeout: 120_000, interval: 100 },
    )
    .toEqual({ turn: false, inbox: 0, jobs: [], workflows: [] });
}

async function workflowOf(
  { temporal }: JobStage,
  { app, userId, sessionId, callKey }: JobRow,
  reads = true,
): Promise<JobEvidence['workflow']> {
  const id = jobWorkflowIdOf(workflowIdOf(app, userId, sessionId), callKey);
  const handle = temporal.workflow.getHandle(id);
  const described = await whereFound(handle.describe());
  if (described === undefined) return undefined;
  const { status } = described;
  if (status.name === 'RUNNING') return { open: true };
  if (!reads || status.name !== 'COMPLETED') return { open: false };
  return { open: false, status: (await handle.result()) as ToolJobStatus };
}

async function whereFound<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** What the transcript has as the outcome of a job's call. */
export function finals({ responses }: JobEvidence): FunctionResponse[] {
  return responses.filter(({ willContinue }) => willContinue !== true);
}

export function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(
    JSON.parse(JSON.stringify(one ?? null)),
    JSON.parse(JSON.stringify(other ?? null)),
  );
}
