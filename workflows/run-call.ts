import {
  ActivityFailure,
  isCancellation,
  scheduleActivity,
  scheduleLocalActivity,
} from '@temporalio/workflow';
import type { JobEnded } from '../src/protocol/job.ts';
import { CLOSE_CALL } from '../src/protocol/names.ts';
import type {
  CloseCallInput,
  PlannedCall,
  ToolCallInput,
  ToolCallResult,
  ToolSchedule,
} from '../src/protocol/step.ts';
import { callOptions, closeCallOptions, localCallOptions } from './activity-options.ts';
import { type CallContext, inputOf } from './call-input.ts';
import type { CallLane } from './call-lane.ts';
import { unsettledText } from './call-text.ts';
import type { Jobs } from './jobs.ts';
import { parkedCall } from './parked-call.ts';
import type { RequestEnding } from './request-book.ts';
import type { Requests } from './requests.ts';
import { startToolJob, type TurnOfCalls } from './start-tool-job.ts';
import { type Priority, turnPriority } from './turn-priority.ts';

export interface CallObserver {
  started(call: PlannedCall): void;
  ended(call: PlannedCall): void;
}

/** How people end calls that wait. */
export interface CutOff {
  /** What the model is told of this call. */
  textOf(callKey: string): string;
  /** All that the call belongs to is cut off, and not this call alone. */
  isAll(): boolean;
}

/** What a call needs of the step that it belongs to. */
export interface CallSurroundings {
  context: CallContext;
  turn: TurnOfCalls;
  lane: CallLane;
  observer: CallObserver;
  requests: Requests;
  jobs: Jobs;
  cutOff: CutOff;
}

/** What a call came to: settled in the store, or an error that is to be. */
export type RanCall = { skipSummarization: boolean } | { error: string };

/**
 * Runs a call, with the questions that stand before it and those that it asks itself: each run is scheduled once, and none where
 * somebody has said no, unless the tool asked itself.
 */
export async function runCall(
  call: PlannedCall,
  schedule: ToolSchedule,
  surroundings: CallSurroundings,
): Promise<RanCall> {
  const { context, turn, lane, observer, requests } = surroundings;
  const priority = turnPriority(turn, turn.priority);
  const { callKey, callId, tool, summary } = call;
  let { gate, args } = call;
  let answer: RequestEnding | undefined;
  for (let run = 1; ; run += 1) {
    if (gate !== undefined) {
      const { session, agent, invocationId } = context;
      const asking = { callKey, callId, tool, session, agent, invocationId };
      answer = await requests.ask(summary === undefined ? asking : { ...asking, summary }, gate);
      const isYes = answer.status === 'approved' || answer.status === 'answered';
      if (!isYes && gate.inside !== true) {
        const ending = answer;
        return await heard(requests, ending, () => closeCall(call, args, ending, { context, priority }));
      }
      if (answer.args !== undefined) args = answer.args;
    }
    const answered = answer;
    const given = { ...call, args };
    const result = await heard(requests, answered, () =>
      lane.run(schedule.exclusive === true, async () => {
        observer.started(call);
        try {
          return await attempt(given, schedule, { context, priority, run }, answered);
        } finally {
          observer.ended(call);
        }
      }),
    );
    if ('error' in result) return result;
    if ('parks' in result) return await parkedCall(given, schedule, result.parks, surroundings);
    if ('response' in result) {
      const { detached, skipSummarization } = result;
      if (detached !== undefined) await startToolJob(given, schedule, detached, surroundings);
      return { skipSummarization: skipSummarization === true };
    }
    // Somebody has ended its job while the tool ran: the next run settles the call by that, and the tool doesn't run again.
    gate = 'ended' in result ? undefined : result.asks;
  }
}

/** Whoever has decided has done so, also where what comes of it was cancelled, or no worker took it in time. */
async function heard<Result extends object>(
  requests: Requests,
  answer: RequestEnding | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  let result: Result | undefined;
  try {
    result = await work();
    return result;
  } finally {
    if (answer !== undefined && (result === undefined || 'error' in result)) requests.unheard(answer);
  }
}

async function attempt(
  call: PlannedCall,
  schedule: ToolSchedule,
  { context, priority, run }: { context: CallContext; priority: Priority; run: number },
  answer: RequestEnding | undefined,
): Promise<ToolCallResult | JobEnded | { error: string }> {
  const input: ToolCallInput = {
    ...inputOf(call, context),
    ...(schedule.exclusive ? { exclusive: true } : {}),
    ...(answer === undefined ? {} : { answered: answer.answered }),
  };
  const told = answer === undefined ? call : { ...call, summary: behind(call, answer) };
  try {
    return schedule.local
      ? await scheduleLocalActivity<ToolCallResult>(call.tool, [input], localCallOptions(told, schedule))
      : await scheduleActivity<ToolCallResult | JobEnded>(
          call.tool,
          [input],
          callOptions(told, schedule, { priority, run }),
        );
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: unsettledText(error, call) };
  }
}

async function closeCall(
  call: PlannedCall,
  args: PlannedCall['args'],
  { status, reason, answered, people }: RequestEnding,
  { context, priority }: { context: CallContext; priority: Priority },
): Promise<RanCall> {
  const why = status === 'expired' ? 'expired' : 'rejected';
  const input: CloseCallInput = {
    ...inputOf({ ...call, args }, context),
    tool: call.tool,
    answered,
    why,
    ...(reason === undefined ? {} : { reason }),
  };
  try {
    const summary = `${call.tool} · ${why}${byText(people)}`;
    const options = closeCallOptions(summary, priority);
    const result = await scheduleActivity<ToolCallResult>(CLOSE_CALL, [input], options);
    return { skipSummarization: 'skipSummarization' in result && result.skipSummarization === true };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: 'This tool call is rejected.' };
  }
}

/** What people are told of a run behind a question; none of what they have given. */
function behind({ summary }: PlannedCall, { status, people }: RequestEnding): string {
  return [...(summary === undefined || summary === '' ? [] : [summary]), `${status}${byText(people)}`].join(
    ' · ',
  );
}

function byText(people: readonly string[]): string {
  return people.length === 0 ? '' : ` by ${people.join(', ')}`;
}
