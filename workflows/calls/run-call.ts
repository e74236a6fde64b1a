import {
  ActivityFailure,
  isCancellation,
  scheduleActivity,
  scheduleLocalActivity,
} from '@temporalio/workflow';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import type { JobEnded } from '../../src/protocol/job.ts';
import { CLOSE_CALL } from '../../src/protocol/names.ts';
import type {
  ChainFence,
  CloseCallInput,
  PlannedCall,
  ToolCallInput,
  ToolCallResult,
  ToolSchedule,
} from '../../src/protocol/step.ts';
import { callOptions, closeCallOptions, localCallOptions } from '../activity-options.ts';
import type { RequestEnding } from '../approvals/request-book.ts';
import type { Requests } from '../approvals/requests.ts';
import { callAgent } from '../children/call-agent.ts';
import type { ParentTurn } from '../children/run-child.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { parkedCall } from '../jobs/parked-call.ts';
import { startToolJob, type TurnOfCalls } from '../jobs/start-tool-job.ts';
import { type Priority, turnPriority } from '../turn-priority.ts';
import { usable } from '../usable-result.ts';
import { type CallContext, inputOf } from './call-input.ts';
import type { CallLane } from './call-lane.ts';
import { unsettledText } from './call-text.ts';
import { type RanCall, ranOf } from './ran-call.ts';

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
  /** Runs the agents of calls. */
  parent: ParentTurn;
  rootWorkflowId: string;
  /** Names of the agents from the root to the caller. */
  path: readonly string[];
  fence: ChainFence;
}

/**
 * Runs a call, with the questions that stand before it and those that it asks itself: each run is scheduled once, and none where
 * somebody has said no, unless the tool asked itself.
 */
export async function runCall(
  call: PlannedCall,
  schedule: ToolSchedule,
  surroundings: CallSurroundings,
): Promise<RanCall> {
  const { context, turn, requests, path } = surroundings;
  const priority = turnPriority(turn, turn.priority);
  const { callKey, callId, tool, summary, runs } = call;
  let { gate, args } = call;
  if (runs !== undefined && runs.begins === undefined && gate === undefined) {
    return await running(call, schedule, surroundings, () => callAgent(call, schedule, runs, surroundings));
  }
  let answer: RequestEnding | undefined;
  for (let run = 1; ; run += 1) {
    if (gate !== undefined) {
      const { session, agent, invocationId } = context;
      const asking = { callKey, callId, tool, session, agent, invocationId, path };
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
      running(call, schedule, surroundings, () =>
        attempt(given, schedule, { context, priority, run }, answered),
      ),
    );
    if ('error' in result) return result;
    if ('parks' in result) return await parkedCall(given, schedule, result.parks, surroundings);
    if ('runs' in result && runs !== undefined) {
      return await running(call, schedule, surroundings, () =>
        callAgent(given, schedule, runs, surroundings),
      );
    }
    if ('response' in result) {
      const { detached } = result;
      if (detached !== undefined) await startToolJob(given, schedule, detached, surroundings);
      return ranOf(result);
    }
    // Somebody has ended its job while the tool ran: the next run settles the call by that, and the tool doesn't run again.
    gate = 'asks' in result ? result.asks : undefined;
  }
}

/** In its turn among the calls of its step. */
function running<Result>(
  call: PlannedCall,
  schedule: ToolSchedule,
  { lane, observer }: Pick<CallSurroundings, 'lane' | 'observer'>,
  work: () => Promise<Result>,
): Promise<Result> {
  return lane.run(schedule.exclusive === true, async () => {
    observer.started(call);
    try {
      return await work();
    } finally {
      observer.ended(call);
    }
  });
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
  const told = answer === undefined ? call : { ...call, summary: answeredSummary(call, answer) };
  try {
    const result = schedule.local
      ? await scheduleLocalActivity<ToolCallResult>(call.tool, [input], localCallOptions(told, schedule))
      : await scheduleActivity<ToolCallResult | JobEnded>(
          call.tool,
          [input],
          callOptions(told, schedule, { priority, run }),
        );
    return usable(call.tool, RESULTS.toolCall, result);
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
    return ranOf(usable(CLOSE_CALL, RESULTS.toolCall, result));
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: 'This tool call is rejected.' };
  }
}

/** What people are told of a run that an answer lets through; none of what they have given, and no arguments that they have changed. */
function answeredSummary({ summary = '' }: PlannedCall, { status, people, args }: RequestEnding): string {
  const isEdited = args !== undefined;
  const how = `${status}${isEdited ? ' with other arguments' : ''}${byText(people)}`;
  return [...(summary === '' || isEdited ? [] : [summary]), how].join(' · ');
}

function byText(people: readonly string[]): string {
  return people.length === 0 ? '' : ` by ${people.join(', ')}`;
}
