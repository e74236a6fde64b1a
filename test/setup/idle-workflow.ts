import type { WorkflowHandle } from '@temporalio/client';
import { expect } from 'vitest';

/** Nothing is on its way to a worker: one that ends now takes no task with it, which the server would miss after ten seconds only. */
export async function idleWorkflow(handle: Pick<WorkflowHandle, 'describe'>): Promise<void> {
  await expect
    .poll(async () => {
      const { raw } = await handle.describe();
      return raw.pendingWorkflowTask ? 'a task' : (raw.pendingActivities ?? []).length;
    })
    .toBe(0);
}
