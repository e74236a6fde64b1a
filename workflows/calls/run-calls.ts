import { CancellationScope } from '@temporalio/workflow';
import type { CallsOfStep } from '../../src/protocol/call-input.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type { Carried } from '../../src/protocol/sizes.ts';
import type { PlannedCall, UnsettledCall } from '../../src/protocol/step.ts';
import type { Turn } from '../turn/turn.ts';
import { type InvocationState, runKeyOf } from '../turn/turn-state.ts';
import type { CallContext, StepOfCall } from './call.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { runCall } from './run-call.ts';

export interface RanCalls {
  /** Calls whose activity ended without settling an outcome. */
  unsettled: UnsettledCall[];
  skipSummarization: boolean;
  /** The agent that gets the turn. */
  transferToAgent?: string;
  escalated?: true;
  /** Response of the call that was settled last. */
  response?: Carried<Record<string, unknown>>;
}

/**
 * Runs a step's calls: those that are safe together at once, at most `maxParallelCalls`; one that isn't runs alone, after those
 * before it and before those after it. One that waits for people waits beside them, and takes its turn once it may run.
 */
export async function runCalls(turn: Turn, state: InvocationState, step: CallsOfStep): Promise<RanCalls> {
  const { steering, requests, jobs } = turn;
  const ran: RanCalls = { unsettled: [], skipSummarization: false };
  for (const [callKey, result] of Object.entries(step.ran ?? {}))
    if ('response' in result) steering.answered(callKey);
  steering.planned(step.calls);
  requests.planned(step.calls);
  jobs.planned(step.calls);
  const all = CancellationScope.current();
  const ofStep: StepOfCall = {
    turn,
    state,
    context: contextOf(state, step),
    limit: new ConcurrencyLimit(step.maxParallelCalls),
    ran: new Map(Object.entries(step.ran ?? {})),
    isCutOff: () => all.consideredCancelled,
  };
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
          const result = await runCall(call, schedule, ofStep);
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
  // The last one in call order counts, as when their actions are merged.
  const to = step.calls.findLast(({ callKey }) => transfers.has(callKey));
  if (to !== undefined) ran.transferToAgent = transfers.get(to.callKey) as string;
  return ran;
}

/** The first failure, once nothing runs any more: what is settled after a failure would come too late to count. */
async function allEnded(runs: readonly Promise<void>[]): Promise<void> {
  for (const ended of await Promise.allSettled(runs)) {
    if (ended.status === 'rejected') throw ended.reason;
  }
}

function contextOf(state: InvocationState, { session, agent }: CallsOfStep): CallContext {
  const { invocationId, acting, handedOnBy, traceparent } = state;
  const handedOn = handedOnBy?.length;
  return { session, agent, runKey: runKeyOf(state), invocationId, ...acting, handedOn, traceparent };
}

function scheduleOf(step: CallsOfStep, call: PlannedCall): ToolSchedule {
  const schedule = Object.hasOwn(step.schedules, call.tool) ? step.schedules[call.tool] : undefined;
  if (schedule === undefined) throw new Error(`the step names no schedule for the tool ${call.tool}`);
  return schedule;
}
