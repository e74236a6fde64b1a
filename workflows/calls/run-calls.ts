import { CancellationScope } from '@temporalio/workflow';
import type { Carried } from '../../src/protocol/carried.ts';
import type { PlannedCall, StepOutcome, ToolSchedule, UnsettledCall } from '../../src/protocol/step.ts';
import type { Requests } from '../approvals/requests.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { TurnOfCalls } from '../jobs/start-tool-job.ts';
import type { Steering } from '../turn/steering.ts';
import type { CallContext } from './call-input.ts';
import { CallLane } from './call-lane.ts';
import { type CallObserver, type CallSurroundings, runCall } from './run-call.ts';

export interface RanCalls {
  /** Calls whose activity ended without settling an outcome. */
  unsettled: UnsettledCall[];
  skipSummarization: boolean;
  /** To whom the turn is handed on. */
  transferToAgent?: string;
  escalated?: true;
  /** Of the call that was settled last. */
  response?: Carried<Record<string, unknown>>;
}

type CallsOfStep = Pick<Extract<StepOutcome, { kind: 'calls' }>, 'calls' | 'schedules' | 'maxParallelCalls'>;

/** What watches the calls of a turn. */
export interface WatchOfCalls {
  observer: CallObserver;
  steering: Steering;
  requests: Requests;
  jobs: Jobs;
  tree: Pick<CallSurroundings, 'parent' | 'rootWorkflowId' | 'path' | 'fence'>;
}

/**
 * Runs a step's calls: those that are safe together at once, at most `maxParallelCalls`; one that isn't runs alone, after those
 * before it and before those behind it. One that waits for people waits beside them, and takes its turn once it may run.
 */
export async function runCalls(
  context: CallContext,
  turn: TurnOfCalls,
  step: CallsOfStep,
  { observer, steering, requests, jobs, tree }: WatchOfCalls,
): Promise<RanCalls> {
  const ran: RanCalls = { unsettled: [], skipSummarization: false };
  steering.planned(step.calls);
  requests.planned(step.calls);
  jobs.planned(step.calls);
  const lane = new CallLane(step.maxParallelCalls);
  const all = CancellationScope.current();
  const cutOff = {
    textOf: (callKey: string) => steering.textOf(callKey),
    isAll: () => all.consideredCancelled,
  };
  const surroundings: CallSurroundings = { context, turn, lane, observer, requests, jobs, cutOff, ...tree };
  const transfers = new Map<string, string>();
  await allEnded(
    step.calls.map(async (call) => {
      const { callKey, callId, tool } = call;
      const schedule = scheduleOf(step, call);
      const unsettled = (error: string): void => {
        ran.unsettled.push({ callKey, callId, tool, error });
      };
      await steering.runCall(
        callKey,
        async () => {
          const result = await runCall(call, schedule, surroundings);
          if ('error' in result) return unsettled(result.error);
          if (result.skipSummarization) ran.skipSummarization = true;
          if (result.escalate) ran.escalated = true;
          if (result.response !== undefined) ran.response = result.response;
          if (result.transferToAgent) transfers.set(callKey, result.transferToAgent);
        },
        (error) => {
          requests.cancelled(callKey, error);
          unsettled(error);
        },
      );
      requests.ended(call);
      jobs.ended(call);
    }),
  );
  // Of several the last one counts, in call order, as where their actions are merged.
  const to = step.calls.findLast(({ callKey }) => transfers.has(callKey));
  if (to !== undefined) ran.transferToAgent = transfers.get(to.callKey) as string;
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
