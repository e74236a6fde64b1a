import { type Client, WorkflowFailedError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { CANCEL_TIMEOUT, type DeletedSessions, type DeleteSessionOptions } from '../../contract/sessions.ts';
import { jobWorkflowIdOf } from '../../protocol/identity.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { DeletedSession, IdleSession } from '../../store/sessions/session-store.ts';
import type { Store } from '../../store/store.ts';
import { SessionHasForks } from '../../store/store-errors.ts';
import { isOutOfTime } from '../ask-workflow.ts';
import type { ClientContext } from '../client-context.ts';
import { TurnRunning } from '../client-errors.ts';
import { isOpen, latestRun } from '../turns/open-run.ts';
import { workflowIdOfSession } from '../turns/turn-names.ts';
import { deleteHistories } from './delete-histories.ts';

const PAGE = 100;

/** Turns of one session that are cancelled, one after another, before it is given up. */
const MOST_CANCELLED = 10;

export interface DeletedExpired extends DeletedSessions {
  /** Old sessions that were kept: a turn or a job runs, or forks read the events. Sessions with new events aren't counted. */
  skipped: SessionNames[];
}

/** The stored rows of a session, and the histories of its runs. */
export async function deleteWithRuns(
  context: ClientContext,
  store: Store,
  options: DeleteSessionOptions,
): Promise<DeletedSessions> {
  const {
    app,
    userId,
    sessionId,
    withForks = false,
    cancelRunning = false,
    timeout = CANCEL_TIMEOUT,
  } = options;
  const names = { app, userId, sessionId };
  const all = withForks ? [names, ...(await store.sessions.forksOf(names))] : [names];
  const latest = new Map<string, Awaited<ReturnType<typeof latestRun>>>();
  for (const each of all) {
    const workflowId = workflowIdOfSession(each, 'sessions.delete');
    latest.set(
      workflowId,
      cancelRunning ? await cancelledRun(context, workflowId, timeout) : await idleRun(context, workflowId),
    );
  }
  const { idleSince } = options;
  const idle = idleSince === undefined ? {} : { idleSince };
  if (idleSince !== undefined) await assertNoJob(store, names);
  const deleted = await store.sessions.delete({ ...names, withForks, ...idle });
  const sessions = deleted.map(({ app, userId, sessionId }) => ({ app, userId, sessionId }));
  let runs = 0;
  if (idleSince !== undefined && sessions.length === 0) {
    // It was written to, and its histories are of what stays.
    if ((await store.sessions.find(names)) !== undefined) return { sessions, runs };
  }
  // Repeating a deletion that was cut off here finds no session any more, and still their runs.
  for (const each of [...all, ...sessions]) {
    const workflowId = workflowIdOfSession(each, 'sessions.delete');
    if (!latest.has(workflowId)) latest.set(workflowId, await latestRun(context.temporal, workflowId));
  }
  const jobs = await endJobs(context, deleted);
  for (const [workflowId, run] of latest) {
    runs += await deleteHistories(context.temporal, workflowId, run, jobs.get(workflowId));
  }
  if (cancelRunning) for (const workflowId of latest.keys()) runs += await endStraggler(context, workflowId);
  return { sessions, runs };
}

export async function deleteExpired(
  context: ClientContext,
  store: Store,
  app: string,
  before: number,
): Promise<DeletedExpired> {
  const [gone, skipped]: [SessionNames[], SessionNames[]] = [[], []];
  let ended = 0;
  for await (const { app: of, userId, sessionId } of idleSessions(store, app, before)) {
    const names = { app: of, userId, sessionId };
    try {
      const { sessions, runs } = await deleteWithRuns(context, store, { ...names, idleSince: before });
      gone.push(...sessions);
      ended += runs;
    } catch (error) {
      if (!(error instanceof TurnRunning || error instanceof SessionHasForks)) throw error;
      skipped.push(names);
    }
  }
  return { sessions: gone, runs: ended, skipped };
}

/** Page after page, after the sessions that were left. */
async function* idleSessions(store: Store, app: string, before: number): AsyncGenerator<IdleSession> {
  let last: IdleSession | undefined;
  for (;;) {
    const page = await store.sessions.idleSince(app, before, PAGE, last);
    yield* page;
    last = page.at(-1);
    if (page.length < PAGE) return;
  }
}

/** @throws TurnRunning */
export async function assertIdle(context: ClientContext, names: SessionNames, method: string): Promise<void> {
  await idleRun(context, workflowIdOfSession(names, method));
}

/** The latest run, which is closed. */
async function idleRun(context: ClientContext, workflowId: string): ReturnType<typeof latestRun> {
  const run = await latestRun(context.temporal, workflowId);
  if (run !== undefined && isOpen(run)) throw turnRunning(workflowId);
  return run;
}

export function turnRunning(workflowId: string): TurnRunning {
  return new TurnRunning(
    `a turn of session ${workflowId} runs: wait for its end, or cancel it (sessions.delete does with cancelRunning: true)`,
  );
}

/** A client that waits for a message that was queued after a turn sends it again as soon as that turn is cancelled. */
async function cancelledRun(
  context: ClientContext,
  workflowId: string,
  timeout: number,
): ReturnType<typeof latestRun> {
  for (let cancelled = 0; ; cancelled += 1) {
    const run = await latestRun(context.temporal, workflowId);
    if (run === undefined || !isOpen(run)) return run;
    if (cancelled === MOST_CANCELLED) throw turnRunning(workflowId);
    await cancelTurn(context, workflowId, run, timeout);
  }
}

/**
 * An old session with a job that goes on is kept: the outcome is for it.
 *
 * @throws TurnRunning
 */
async function assertNoJob(store: Store, names: SessionNames): Promise<void> {
  const [job] = await store.jobs.list({ ...names, limit: 1 });
  if (job === undefined) return;
  throw new TurnRunning(
    `job ${job.jobId} of session ${names.sessionId} goes on, and its outcome is for this session`,
  );
}

/** Ends the workflows of jobs that went on without their turns: nobody is there to be told. By the workflow id of the session. */
async function endJobs(
  { temporal }: ClientContext,
  deleted: readonly DeletedSession[],
): Promise<Map<string, { workflowId: string; runId: string }[]>> {
  const ended = new Map<string, { workflowId: string; runId: string }[]>();
  for (const session of deleted) {
    const workflowId = workflowIdOfSession(session, 'sessions.delete');
    for (const { callKey } of session.jobs ?? []) {
      const run = await latestRun(temporal, jobWorkflowIdOf(workflowId, callKey));
      if (run === undefined) continue;
      ended.set(workflowId, [...(ended.get(workflowId) ?? []), run]);
      if (isOpen(run)) await terminate(temporal, run);
    }
  }
  return ended;
}

/** A run that was begun while its session was being deleted would look for its message for ever. */
async function endStraggler({ temporal }: ClientContext, workflowId: string): Promise<number> {
  const run = await latestRun(temporal, workflowId);
  if (run === undefined || !isOpen(run)) return 0;
  await terminate(temporal, run);
  return await deleteHistories(temporal, workflowId, run);
}

async function terminate(
  temporal: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<void> {
  try {
    await temporal.workflow.getHandle(workflowId, runId).terminate('its session was deleted');
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

async function cancelTurn(
  context: ClientContext,
  workflowId: string,
  run: { runId: string },
  timeout: number,
): Promise<void> {
  const { temporal } = context;
  const handle = temporal.workflow.getHandle(workflowId, run.runId);
  try {
    await temporal.workflow.getHandle(workflowId).cancel();
    await temporal.withDeadline(Date.now() + timeout, () => handle.result());
  } catch (error) {
    if (error instanceof WorkflowFailedError) return;
    if (!isOutOfTime(error)) throw error;
    throw new TurnRunning(
      `the turn of session ${workflowId} was cancelled and has not ended within ${timeout} ms: start a worker, or terminate it`,
      { cause: error },
    );
  }
}
