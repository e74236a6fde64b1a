import { ActivityFailure, CancelledFailure } from '@temporalio/workflow';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import type { AwaitedJob } from '../../src/protocol/job.ts';
import type { PlannedCall, ToolCallResult, ToolSchedule } from '../../src/protocol/step.ts';
import { inputOf } from '../calls/call-input.ts';
import { unsettledText } from '../calls/call-text.ts';
import { type RanCall, ranOf } from '../calls/ran-call.ts';
import type { CallSurroundings } from '../calls/run-call.ts';
import { turnPriority } from '../turn-priority.ts';
import { usable } from '../usable-result.ts';
import { endJob, JobWait } from './job-wait.ts';

/**
 * Waits for the job of a call whose tool has returned without an outcome, and settles the call. It holds no place of those that
 * run, and the tool doesn't run again.
 */
export async function parkedCall(
  call: PlannedCall,
  schedule: ToolSchedule,
  job: AwaitedJob,
  { context, turn, observer, jobs, cutOff }: CallSurroundings,
): Promise<RanCall> {
  const priority = turnPriority(turn, turn.priority);
  const waiting = { call, schedule, job, input: inputOf(call, context), priority };
  const wait = new JobWait(waiting);
  jobs.parked(call, job, wait);
  const why = await wait.over();
  const text = why === 'cancelled' ? cutOff.textOf(call.callKey) : undefined;
  observer.started(call);
  jobs.ending(call);
  let ran: RanCall;
  try {
    const how = { why, ...(text === undefined ? {} : { text }) };
    const result = await endJob<ToolCallResult>(waiting, how);
    ran = ranOf(usable(call.tool, RESULTS.toolCall, result));
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    ran = { error: text ?? unsettledText(error, call) };
  } finally {
    observer.ended(call);
  }
  // The call is settled; what it belongs to ends all the same.
  if (cutOff.isAll()) throw new CancelledFailure('the turn was cut off');
  return ran;
}
