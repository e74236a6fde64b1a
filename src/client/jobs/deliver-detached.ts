import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { JobRow } from '../../contract/jobs.ts';
import { jobWorkflowIdOf, workflowIdOf } from '../../protocol/identity.ts';
import { jobMessageId, type ToolJobStart, textOfJobBelow } from '../../protocol/job.ts';
import { TOOL_JOB } from '../../protocol/names.ts';
import type { Store } from '../../store/store.ts';
import type { ClientContext } from '../client-context.ts';
import { deliverUploaded } from '../messages/deliver-uploaded.ts';
import { outgoingTurn } from '../messages/outgoing-turn.ts';
import { latestRun } from '../turns/open-run.ts';
import { turnNamesOf } from '../turns/turn-names.ts';

/**
 * Of a job that goes on without its turn, and that nobody seems to wait for: has its workflow started again where that has closed,
 * so that its tool's hooks are called and its session is told. Where there never was one, tells the session itself.
 */
export async function deliverDetached(context: ClientContext, store: Store, job: JobRow): Promise<void> {
  const { app, userId, sessionId, callKey } = job;
  const workflowId = jobWorkflowIdOf(workflowIdOf(app, userId, sessionId), callKey);
  const known = await describe(context.temporal, workflowId);
  // It looks by itself before it waits.
  if (known?.status.name === 'RUNNING') return;
  if (known !== undefined) await startAgain(context.temporal, known, job, await store.now());
  else if ((await store.jobs.delivery(job)) === 'due') await tellSession(context, store, job);
}

async function describe(
  temporal: Client,
  workflowId: string,
): Promise<WorkflowExecutionDescription | undefined> {
  try {
    return await temporal.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

async function startAgain(
  temporal: Client,
  known: WorkflowExecutionDescription,
  job: JobRow,
  now: number,
): Promise<void> {
  const { workflowId, runId, taskQueue, typedSearchAttributes, priority } = known;
  const { events = [] } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
  const input = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
  const [start] = (await decodeArrayFromPayloads(temporal.options.loadedDataConverter, input)) as [
    ToolJobStart,
  ];
  const timeLeft = Math.max(1, job.until - now);
  await temporal.workflow.start(TOOL_JOB, {
    workflowId,
    taskQueue,
    args: [{ ...start, job: { ...start.job, timeLeft } }],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    staticSummary: `${job.tool} · job`,
    typedSearchAttributes,
    ...(priority === undefined ? {} : { priority }),
  });
}

/** As `holdfast.deliverJob` does. */
async function tellSession(context: ClientContext, store: Store, job: JobRow): Promise<void> {
  const { app, userId, sessionId, callKey, callId, tool, agent, status } = job;
  const session = { app, userId, sessionId };
  // The store puts the outcome in its place, which may be none of a history's business.
  const response = { status };
  const parts = [{ functionResponse: { id: callId, name: tool, response } }];
  const names = turnNamesOf(session, jobMessageId(callKey), 'jobs');
  const isBelow = (await store.sessions.find(session))?.session !== job.session;
  const turn = await outgoingTurn(
    context,
    names,
    isBelow
      ? { ...session, message: textOfJobBelow(job) }
      : { ...session, agent, message: { role: 'user', parts } },
  );
  // Its own workers may be others than those that this client's messages go to.
  const { taskQueue } = (await latestRun(context.temporal, names.workflowId)) ?? context;
  await deliverUploaded({ ...context, taskQueue }, turn);
}
