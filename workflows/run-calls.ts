import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  scheduleActivity,
  scheduleLocalActivity,
} from '@temporalio/workflow';
import { TOOL_FAILED } from '../src/protocol/names.ts';
import type {
  PlannedCall,
  StepOutcome,
  ToolCallInput,
  ToolCallResult,
  ToolSchedule,
  UnsettledCall,
} from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { callOptions, localCallOptions } from './activity-options.ts';
import type { Steering } from './steering.ts';

export interface CallObserver {
  started(call: PlannedCall): void;
  ended(call: PlannedCall): void;
}

export interface RanCalls {
  /** Calls whose activity ended without settling an outcome. */
  unsettled: UnsettledCall[];
  skipSummarization: boolean;
}

type CallsOfStep = Pick<Extract<StepOutcome, { kind: 'calls' }>, 'calls' | 'schedules' | 'maxParallelCalls'>;
type CallContext = Pick<ToolCallInput, 'session' | 'runKey' | 'agent' | 'traceparent'>;

/**
 * Runs a step's calls: neighbours that are safe together at once, at most `maxParallelCalls`; one that isn't runs alone,
 * after those before it and before those behind it.
 */
export async function runCalls(
  context: CallContext,
  step: CallsOfStep,
  observer: CallObserver,
  steering: Steering,
): Promise<RanCalls> {
  const ran: RanCalls = { unsettled: [], skipSummarization: false };
  steering.planned(step.calls);
  for (const group of groupsThatRunTogether(step)) {
    let next = 0;
    const runNext = async (): Promise<void> => {
      for (let call = group[next++]; call !== undefined; call = group[next++]) {
        const planned = call;
        const { callKey, callId, tool } = planned;
        const schedule = scheduleOf(step, call);
        observer.started(call);
        await steering.runCall(
          callKey,
          () => runCall(context, planned, schedule, ran),
          (error) => ran.unsettled.push({ callKey, callId, tool, error }),
        );
        observer.ended(call);
      }
    };
    await allEnded(Array.from({ length: Math.min(step.maxParallelCalls, group.length) }, runNext));
  }
  return ran;
}

/** The first failure, once nothing runs any more: what is settled behind a failure would come too late to count. */
async function allEnded(runs: readonly Promise<void>[]): Promise<void> {
  for (const ended of await Promise.allSettled(runs)) {
    if (ended.status === 'rejected') throw ended.reason;
  }
}

function scheduleOf(step: CallsOfStep, call: PlannedCall): ToolSchedule {
  const schedule = Object.hasOwn(step.schedules, call.tool) ? step.schedules[call.tool] : undefined;
  if (schedule === undefined) throw new Error(`the step names no schedule for the tool ${call.tool}`);
  return schedule;
}

function groupsThatRunTogether(step: CallsOfStep): PlannedCall[][] {
  const groups: PlannedCall[][] = [];
  let together: PlannedCall[] | undefined;
  for (const call of step.calls) {
    if (scheduleOf(step, call).exclusive) {
      groups.push([call]);
      together = undefined;
    } else if (together === undefined) {
      together = [call];
      groups.push(together);
    } else {
      together.push(call);
    }
  }
  return groups;
}

async function runCall(
  context: CallContext,
  call: PlannedCall,
  schedule: ToolSchedule,
  ran: RanCalls,
): Promise<void> {
  const input: ToolCallInput = {
    v: PROTOCOL_VERSION,
    ...context,
    callKey: call.callKey,
    callId: call.callId,
    args: call.args,
    ...(schedule.exclusive ? { exclusive: true } : {}),
  };
  try {
    const result = schedule.local
      ? await scheduleLocalActivity<ToolCallResult>(call.tool, [input], localCallOptions(call, schedule))
      : await scheduleActivity<ToolCallResult>(call.tool, [input], callOptions(call, schedule));
    if (result.skipSummarization) ran.skipSummarization = true;
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    ran.unsettled.push({
      callKey: call.callKey,
      callId: call.callId,
      tool: call.tool,
      error: messageOf(error, call),
    });
  }
}

/** What the infrastructure says of itself is for operators, and nothing that a model could act on. */
function messageOf({ cause }: ActivityFailure, call: PlannedCall): string {
  if (cause instanceof ApplicationFailure && cause.type === TOOL_FAILED) return cause.message;
  return `Error in tool '${call.tool}': no outcome within its total timeout; it may have run`;
}
