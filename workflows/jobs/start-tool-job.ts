import { defineSearchAttributeKey, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { CancellationScope, startChild, workflowInfo } from '@temporalio/workflow';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type { AwaitedJob, ToolJobStart } from '../../src/protocol/job.ts';
import { TOOL_JOB } from '../../src/protocol/names.ts';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/search-attributes.ts';
import type { PlannedCall, ToolSchedule } from '../../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { placeInTree } from '../calls/call-input.ts';
import type { CallSurroundings } from '../calls/run-call.ts';

/** Whose calls they are. */
export type TurnOfCalls = Pick<ToolJobStart, 'app' | 'userId' | 'sessionId' | 'priority'>;

/** Hands a job, whose model was told something meanwhile, to a workflow that outlives this one. */
export async function startToolJob(
  { callKey, callId, tool, args, summary }: PlannedCall,
  schedule: ToolSchedule,
  job: AwaitedJob,
  {
    context,
    turn,
    jobs,
    rootWorkflowId,
  }: Pick<CallSurroundings, 'context' | 'turn' | 'jobs' | 'rootWorkflowId'>,
): Promise<void> {
  const { session, agent, runKey, invocationId } = context;
  const start: ToolJobStart = {
    v: PROTOCOL_VERSION,
    ...turn,
    session,
    turnWorkflowId: rootWorkflowId,
    agent,
    ...placeInTree(context),
    runKey,
    invocationId,
    callKey,
    callId,
    tool,
    args,
    ...(summary === undefined ? {} : { summary }),
    job,
    schedule,
  };
  jobs.detached({ callKey });
  // Also while the turn is being cancelled: the model was told that the job goes on.
  await CancellationScope.nonCancellable(async () => {
    try {
      await startChild(TOOL_JOB, {
        workflowId: jobWorkflowIdOf(rootWorkflowId, callKey),
        args: [start],
        parentClosePolicy: 'ABANDON',
        cancellationType: 'ABANDON',
        staticSummary: `${tool} · job`,
        typedSearchAttributes: labels(),
      });
    } catch (error) {
      // A reset turn has started it before, or somebody who has ended it.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  });
}

/** Those that this run has: one that the server doesn't know would keep the workflow from being started. */
function labels() {
  const { typedSearchAttributes } = workflowInfo();
  return SEARCH_ATTRIBUTES.flatMap((name) => {
    const key = defineSearchAttributeKey(name, 'KEYWORD');
    const value = name === 'HoldfastStatus' ? 'running' : typedSearchAttributes.get(key);
    return typedSearchAttributes.get(key) === undefined || value === undefined ? [] : [{ key, value }];
  });
}
