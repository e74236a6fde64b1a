import { ActivityFailure, isCancellation, scheduleActivity, sleep } from '@temporalio/workflow';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import { callInput } from '../../src/protocol/call-input.ts';
import type { JobEnded } from '../../src/protocol/job.ts';
import { CLOSE_CALL } from '../../src/protocol/names.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type {
  CloseCallInput,
  InlineResult,
  PlannedCall,
  ToolCallInput,
  ToolCallResult,
} from '../../src/protocol/step.ts';
import { callOptions, closeCallOptions, type Priority, turnPriority, usable } from '../activities.ts';
import type { AskingCall, RequestEnding } from '../approvals/request-book.ts';
import type { Requests } from '../approvals/requests.ts';
import { callAgent } from '../children/call-agent.ts';
import { parkedCall, startToolJob } from '../jobs/calls-with-jobs.ts';
import { pathOf } from '../turn/turn-state.ts';
import { noOutcomeText, type RanCall, ranOf, type StepOfCall, unsettledText } from './call.ts';

/**
 * Runs a call, with the questions that stand before it and those that it asks itself: each run is scheduled once, and not at all
 * where somebody has said no, unless the tool asked itself.
 */
export async function runCall(call: PlannedCall, schedule: ToolSchedule, step: StepOfCall): Promise<RanCall> {
  const { requests } = step.turn;
  const { runs } = call;
  let { gate, args } = call;
  if (runs !== undefined && runs.begins === undefined && gate === undefined) {
    return await running(call, schedule, step, () => callAgent(call, schedule, runs, step));
  }
  let answer: RequestEnding | undefined;
  for (let run = 1; ; run += 1) {
    if (gate !== undefined) {
      answer = await requests.ask(askingOf(call, step), gate);
      const isYes = answer.status === 'approved' || answer.status === 'answered';
      if (!isYes && gate.inside !== true) {
        const ending = answer;
        return await heard(requests, ending, () => scheduleCloseCall(call, args, ending, step));
      }
      if (answer.args !== undefined) args = answer.args;
    }
    const answered = answer;
    const given = { ...call, args };
    const ran = run === 1 ? step.ran.get(call.callKey) : undefined;
    const result = isResult(ran)
      ? ran
      : await heard(requests, answered, () =>
          running(call, schedule, step, () => attempt(given, schedule, { step, run, ran }, answered)),
        );
    if ('error' in result) return result;
    if ('parks' in result) {
      const parked = await parkedCall(given, schedule, result.parks, step);
      if (parked !== 'resumes') return parked;
      gate = undefined;
      continue;
    }
    if ('runs' in result && runs !== undefined) {
      return await running(call, schedule, step, () => callAgent(given, schedule, runs, step));
    }
    if ('response' in result) {
      const { detached } = result;
      if (detached !== undefined) await startToolJob(given, schedule, detached, step);
      return ranOf(result);
    }
    // Somebody has ended its job while the tool ran: the next run settles the call by that, and the tool doesn't run again.
    gate = 'asks' in result ? result.asks : undefined;
  }
}

function priorityOf({ turn, state }: StepOfCall): Priority {
  return turnPriority(turn.start, state.priority);
}

/** In its turn among the calls of its step. */
function running<Result>(
  call: PlannedCall,
  schedule: ToolSchedule,
  step: StepOfCall,
  work: () => Promise<Result>,
): Promise<Result> {
  const { turn, limit } = step;
  return limit.run(schedule.exclusive === true, async () => {
    turn.callStarted(call);
    turn.held.began(askingOf(call, step));
    try {
      return await work();
    } finally {
      turn.held.ended(call);
      turn.callEnded(call);
    }
  });
}

function askingOf(
  { callKey, callId, tool, summary }: PlannedCall,
  { context, state }: StepOfCall,
): AskingCall {
  const { session, agent, invocationId } = context;
  return { callKey, callId, tool, summary, session, agent, invocationId, path: pathOf(state) };
}

/** A decision stands, also where what comes of it was cancelled, or no worker took it in time. */
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

/** The activity of the step has run the call, as its own activity would have. */
function isResult(ran: InlineResult | undefined): ran is Extract<InlineResult, ToolCallResult> {
  return ran !== undefined && !('goesOn' in ran) && !('cancelled' in ran);
}

/**
 * The activity of a call that goes on after an attempt in that of its step has what is left of its time. Undefined where the next attempt
 * would come too late.
 */
async function afterInline(
  { tool }: PlannedCall,
  schedule: ToolSchedule,
  ran: InlineResult,
): Promise<ToolSchedule | undefined> {
  if (!('goesOn' in ran)) return schedule;
  const { after, spent } = ran.goesOn;
  const scheduleToClose = schedule.scheduleToClose - spent - after;
  if (scheduleToClose <= 0) return undefined;
  if (after > 0) await sleep(after, { summary: `${tool}: next attempt` });
  return { ...schedule, scheduleToClose };
}

async function attempt(
  call: PlannedCall,
  given: ToolSchedule,
  { step, run, ran }: { step: StepOfCall; run: number; ran: InlineResult | undefined },
  answer: RequestEnding | undefined,
): Promise<ToolCallResult | JobEnded | { error: string }> {
  // A call that no step has run is scheduled in the tick of its turn, as recorded histories have it.
  const schedule = ran === undefined ? given : await afterInline(call, given, ran);
  if (schedule === undefined) return { error: inlineErrorOf(call, ran) };
  const input: ToolCallInput = {
    ...callInput(call, step.context),
    ...(schedule.exclusive ? { exclusive: true } : {}),
    answered: answer?.answered,
  };
  const priority = priorityOf(step);
  const told = answer === undefined ? call : { ...call, summary: answeredSummary(call, answer) };
  try {
    const options = callOptions(told, schedule, { priority, run });
    const result = await scheduleActivity<ToolCallResult | JobEnded>(call.tool, [input], options);
    return usable(call.tool, RESULTS.toolCall, result);
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: unsettledText(error, call) };
  }
}

function inlineErrorOf(call: PlannedCall, ran: InlineResult | undefined): string {
  const error = ran !== undefined && 'goesOn' in ran ? ran.goesOn.error : undefined;
  return error ?? noOutcomeText(call);
}

async function scheduleCloseCall(
  call: PlannedCall,
  args: PlannedCall['args'],
  { status, reason, answered, people }: RequestEnding,
  step: StepOfCall,
): Promise<RanCall> {
  const why = status === 'expired' ? 'expired' : 'rejected';
  const input: CloseCallInput = {
    ...callInput({ ...call, args }, step.context),
    tool: call.tool,
    ...{ answered, why, reason },
  };
  try {
    const summary = `${call.tool} · ${why}${byText(people)}`;
    const options = closeCallOptions(summary, priorityOf(step));
    const result = await scheduleActivity<ToolCallResult>(CLOSE_CALL, [input], options);
    return ranOf(usable(CLOSE_CALL, RESULTS.toolCall, result));
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    return { error: 'This tool call is rejected.' };
  }
}

/** Summary of a run that an answer lets through, without the answer itself and without arguments that people have changed. */
function answeredSummary({ summary = '' }: PlannedCall, { status, people, args }: RequestEnding): string {
  const isEdited = args !== undefined;
  const how = `${status}${isEdited ? ' with other arguments' : ''}${byText(people)}`;
  return [...(summary === '' || isEdited ? [] : [summary]), how].join(' · ');
}

function byText(people: readonly string[]): string {
  return people.length === 0 ? '' : ` by ${people.join(', ')}`;
}
