import { Context as ActivityContext, activityInfo } from '@temporalio/activity';
import proto from '@temporalio/proto';
import type { ChainFence } from '../../src/protocol/step.ts';
import type { OpenedStep, OpenStep, Store } from '../../src/store/store.ts';
import { Fenced } from '../../src/store/store-errors.ts';

const STARTED = proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;

/** A step that was opened, and the fence that it has from then on. */
export interface OpenedUnder {
  opened: OpenedStep;
  fence: ChainFence;
}

/**
 * Opens a step. A first one that the fence keeps out may be that of a chain whose server's clock was set back since the
 * session's last turn: the attempt that Temporal waits for now is the newest one, whatever the clock says, and goes before.
 */
export async function openStep(store: Store, step: OpenStep): Promise<OpenedUnder> {
  try {
    return under(step.fence, await store.openStep(step));
  } catch (error) {
    if (!(error instanceof Fenced) || step.identity === undefined) throw error;
    const newest = await store.newestFence(step.identity);
    if (newest === undefined || newest.startedAt < step.fence.startedAt || !(await isAwaited())) throw error;
    const fence = { ...step.fence, startedAt: newest.startedAt + 1 };
    return under(fence, await store.openStep({ ...step, fence }));
  }
}

/** An earlier attempt may have raised the fence before it was lost. */
function under(fence: ChainFence, opened: OpenedStep): OpenedUnder {
  return {
    opened,
    fence:
      opened.kind === 'recorded' && opened.startedAt > fence.startedAt
        ? { ...fence, startedAt: opened.startedAt }
        : fence,
  };
}

/** Whether this very attempt is what Temporal waits for; a run can have given it up and gone on. */
async function isAwaited(): Promise<boolean> {
  const { workflowExecution, activityId, attempt } = activityInfo();
  if (workflowExecution === undefined) return false;
  const { workflowId, runId } = workflowExecution;
  const { workflow } = ActivityContext.current().client;
  const open = await workflow.getHandle(workflowId).describe();
  if (open.runId !== runId || open.status.name !== 'RUNNING') return false;
  const pending = open.raw.pendingActivities?.find((activity) => activity.activityId === activityId);
  return pending?.state === STARTED && pending.attempt === attempt;
}
