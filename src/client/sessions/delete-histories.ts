import { type Client, isGrpcServiceError, type WorkflowExecutionInfo } from '@temporalio/client';
import { isOpen } from '../turns/open-run.ts';

/** gRPC's NOT_FOUND: somebody was faster, or the retention was. */
const NOT_FOUND = 5;

const AT_ONCE = 10;

type Run = Pick<WorkflowExecutionInfo, 'workflowId' | 'runId'>;

/**
 * Asks Temporal to delete the histories of a session's runs and of their children; the server does it by and by. A run that
 * began later than the latest known one belongs to the next user of the session's names, and so does an open one where
 * none is known.
 *
 * @param others runs of the session that are known without the index, too.
 * @returns how many runs it was asked for.
 */
export async function deleteHistories(
  temporal: Client,
  workflowId: string,
  latest?: Run & Pick<WorkflowExecutionInfo, 'startTime'>,
  others: readonly Run[] = [],
): Promise<number> {
  // The index of runs is late at times; the latest one is known without it.
  const known = latest === undefined ? others : [latest, ...others];
  const runs = new Map<string, Run>(known.map((run) => [run.runId, run]));
  const query = `WorkflowId = ${literal(workflowId)} OR WorkflowId STARTS_WITH ${literal(`${workflowId}/`)}`;
  for await (const run of temporal.workflow.list({ query })) {
    const own = run.workflowId === workflowId;
    if (!own && !run.workflowId.startsWith(`${workflowId}/`)) continue;
    if (own && (latest === undefined ? isOpen(run) : run.startTime > latest.startTime)) continue;
    runs.set(run.runId, run);
  }
  let asked = 0;
  const left = [...runs.values()];
  while (left.length > 0) {
    const deleted = await Promise.all(left.splice(0, AT_ONCE).map((run) => deleteHistory(temporal, run)));
    asked += deleted.filter(Boolean).length;
  }
  return asked;
}

async function deleteHistory(temporal: Client, { workflowId, runId }: Run): Promise<boolean> {
  try {
    await temporal.workflowService.deleteWorkflowExecution({
      namespace: temporal.options.namespace,
      workflowExecution: { workflowId, runId },
    });
    return true;
  } catch (error) {
    if (isGrpcServiceError(error) && Number(error.code) === NOT_FOUND) return false;
    throw error;
  }
}

/** A string of the visibility query language. */
function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
