import { activityInfo } from '@temporalio/activity';
import type { JobAddress } from '../../src/store/store.ts';

/** Of the activity that runs now: whoever ends its job completes it. */
export function jobAddress(): JobAddress {
  const { workflowExecution, activityId } = activityInfo();
  if (workflowExecution === undefined) throw new Error('an activity of a call belongs to a workflow');
  const { workflowId, runId } = workflowExecution;
  return { workflowId, runId, activityId };
}
