import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ActivityFailure, CancellationScope, CancelledFailure, startChild } from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import { callInput, placeInTree } from '../../src/protocol/call-input.ts';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type { AwaitedJob, ToolJobStart } from '../../src/protocol/job.ts';
import { TOOL_JOB } from '../../src/protocol/names.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type { PlannedCall, ToolCallResult } from '../../src/protocol/step.ts';
import { turnPriority, usable } from '../activities.ts';
import { type RanCall, ranOf, type StepOfCall, unsettledText } from '../calls/call.ts';
import { labelsOfChild } from '../turn/search-attributes.ts';
import { JobWait, scheduleJobEnd } from './job-wait.ts';

/**
 * Waits for the job of a call whose tool has returned without an outcome, and settles the call. It holds no place of those that
 * run. The tool doesn't run again, unless a look at the job says so (`resumes`).
 */
export async function parkedCall(
  call: PlannedCall,
  schedule: ToolSchedule,
  job: AwaitedJob,
  { turn, state, context, isCutOff }: StepOfCall,
): Promise<RanCall | 'resumes'> {
  const priority = turnPriority(turn.start, state.priority);
  const waiting = { call, schedule, job, input: callInput(call, context), priority };
  const wait = new JobWait(waiting);
  turn.jobs.parked(call, job, wait);
  const why = await wait.over();
  if (why === 'resumes') {
    turn.jobs.resumed(call);
    return why;
  }
  const text = why === 'cancelled' ? turn.steering.textOf(call.callKey) : undefined;
  turn.callStarted(call);
  turn.jobs.ending(call);
  let ran: RanCall;
  try {
    const result = await scheduleJobEnd<ToolCallResult>(waiting, { why, text });
    ran = ranOf(usable(call.tool, RESULTS.toolCall, result));
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    ran = { error: text ?? unsettledText(error, call) };
  } finally {
    turn.callEnded(call);
  }
  // The call is settled; what it belongs to ends all the same.
  if (isCutOff()) throw new CancelledFailure('the turn was cut off');
  return ran;
}

/** Gives a job, whose model was told something meanwhile, to a workflow that outlives this one. */
export async function startToolJob(
  { callKey, callId, tool, args, summary }: PlannedCall,
  schedule: ToolSchedule,
  job: AwaitedJob,
  { turn, state, context }: StepOfCall,
): Promise<void> {
  const { jobs, rootWorkflowId } = turn;
  const { app, userId, sessionId } = turn.start;
  const { session, agent, runKey, invocationId } = context;
  const start: ToolJobStart = {
    v: PROTOCOL_VERSION,
    ...{ app, userId, sessionId, priority: state.priority },
    ...{ session, turnWorkflowId: rootWorkflowId, agent },
    ...placeInTree(context),
    ...{ runKey, invocationId, callKey, callId, tool, args, summary, job, schedule },
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
        typedSearchAttributes: labelsOfChild(),
      });
    } catch (error) {
      // A reset turn has started it before, or somebody who has ended it.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  });
}
