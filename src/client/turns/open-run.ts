import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';

type Description = Omit<WorkflowExecutionDescription, 'raw'>;

const CLOSED: ReadonlySet<string> = new Set([
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'CONTINUED_AS_NEW',
  'TIMED_OUT',
]);

/** The newest run of a workflow id; undefined where there is none, or it was deleted. */
export async function latestRun(temporal: Client, workflowId: string): Promise<Description | undefined> {
  try {
    return await temporal.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The run that answers messages of a session now. */
export async function openRun(temporal: Client, workflowId: string): Promise<Description | undefined> {
  const run = await latestRun(temporal, workflowId);
  return run !== undefined && isOpen(run) ? run : undefined;
}

/** Whether a run has closed, or was told to: one that was cancelled closes as soon as the end of its turn is recorded. */
export async function endsSoon(
  temporal: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
): Promise<boolean> {
  try {
    const run = await temporal.workflow.getHandle(workflowId, runId).describe();
    return !isOpen(run) || run.raw.workflowExtendedInfo?.cancelRequested === true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return true;
    throw error;
  }
}

export function isOpen({ status }: Pick<Description, 'status'>): boolean {
  return !CLOSED.has(status.name);
}
