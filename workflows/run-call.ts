import {
  ActivityFailure,
  ApplicationFailure,
  isCancellation,
  scheduleActivity,
  scheduleLocalActivity,
} from '@temporalio/workflow';
import { CLOSE_CALL, TOOL_FAILED } from '../src/protocol/names.ts';
import type {
  CloseCallInput,
  PlannedCall,
  ToolCallInput,
  ToolCallResult,
  ToolSchedule,
} from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { callOptions, closeCallOptions, localCallOptions } from './activity-options.ts';
import type { CallLane } from './call-lane.ts';
import type { RequestEnding } from './request-book.ts';
import type { Requests } from './requests.ts';

export interface CallContext extends Pick<ToolCallInput, 'session' | 'runKey' | 'agent' | 'traceparent'> {
  invocationId: string;
}

export interface CallObserver {
  started(call: PlannedCall): void;
  ended(call: PlannedCall): void;
}

/** What a call needs of the step that it belongs to. */
export interface CallSurroundings {
  context: CallContext;
  lane: CallLane;
  observer: CallObserver;
  requests: Requests;
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
  const { context, lane, observer, requests } = surroundings;
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
        return await heard(requests, ending, () => closeCall(call, args, ending, context));
      }
      if (answer.args !== undefined) args = answer.args;
    }
    const answered = answer;
    const given = { ...call, args };
    const result = await heard(requests, answered, () =>
      lane.run(schedule.exclusive === true, async () => {
        observer.started(call);
        try {
          return await attempt(given, schedule, context, run, answered);
        } finally {
          observer.ended(call);
        }
      }),
    );
    if ('error' in result) return result;
    if (!('asks' in result)) return { skipSummarization: result.skipSummarization === true };
    gate = result.asks;
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
  context: CallContext,
  run: number,
  answer: RequestEnding | undefined,
): Promise<ToolCallResult | { error: string }> {
  const input: ToolCallInput = {
    ...inputOf(call, context),
    ...(schedule.exclusive ? { exclusive: true } : {}),
    ...(answer === undefined ? {} : { answered: answer.answered }),
  };
  const told = answer === undefined ? call : { ...call, summary: behind(call, answer) };
  try {
    return schedule.local
      ? await scheduleLocalActivity<ToolCallResult>(call.tool, [input], localCallOptions(told, schedule))
      : await scheduleActivity<ToolCallResult>(call.tool, [input], callOptions(told, schedule, run));
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: messageOf(error, call) };
  }
}

async function closeCall(
  call: PlannedCall,
  args: PlannedCall['args'],
  { status, reason, answered, people }: RequestEnding,
  context: CallContext,
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
    const result = await scheduleActivity<ToolCallResult>(CLOSE_CALL, [input], closeCallOptions(summary));
    return { skipSummarization: 'skipSummarization' in result && result.skipSummarization === true };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: 'This tool call is rejected.' };
  }
}

function inputOf(call: PlannedCall, context: CallContext): ToolCallInput {
  const { session, runKey, agent, traceparent } = context;
  return {
    v: PROTOCOL_VERSION,
    session,
    runKey,
    agent,
    ...(traceparent === undefined ? {} : { traceparent }),
    callKey: call.callKey,
    callId: call.callId,
    args: call.args,
    ...(call.prepared === undefined ? {} : { prepared: call.prepared }),
  };
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

/** What the infrastructure says of itself is for operators, and nothing that a model could act on. */
function messageOf({ cause }: ActivityFailure, call: PlannedCall): string {
  if (cause instanceof ApplicationFailure && cause.type === TOOL_FAILED) return cause.message;
  return `Error in tool '${call.tool}': no outcome within its total timeout; it may have run`;
}
