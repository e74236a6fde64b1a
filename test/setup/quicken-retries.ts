import type { Client } from '@temporalio/client';

/** Of a second. */
const TENTH = { nanos: 100_000_000 };

/**
 * Lets the server try a pending activity again ten times a second, as an operator can: the attempts stay as they are, without
 * the back-off between them, which grows the longer a machine takes for each.
 */
export async function quickenRetries(
  client: Client,
  workflowId: string,
  activityType: string,
): Promise<void> {
  await client.workflowService.updateActivityOptions({
    namespace: client.options.namespace,
    execution: { workflowId },
    type: activityType,
    activityOptions: { retryPolicy: { initialInterval: TENTH, maximumInterval: TENTH } },
    updateMask: { paths: ['retry_policy.initial_interval', 'retry_policy.maximum_interval'] },
  });
}
