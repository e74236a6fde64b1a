import {
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { resultProblem, UNUSABLE } from '../src/protocol/activity-results.ts';
import { fairnessKeyOf } from '../src/protocol/identity.ts';
import type { AwaitedJob } from '../src/protocol/job.ts';
import { defined } from '../src/protocol/json.ts';
import type { ToolSchedule } from '../src/protocol/run-terms.ts';
import type { Shape } from '../src/protocol/shape.ts';
import { LONGEST_NOTICE_TIME, SUMMARY_LIMIT } from '../src/protocol/sizes.ts';
import type { PlannedCall } from '../src/protocol/step.ts';
import { DEFAULT_PRIORITY } from '../src/protocol/turn.ts';

const HEARTBEAT_TIMEOUT = 10_000;

/**
 * The activity itself ends a model call at the agent's own timeout, which the workflow doesn't know before the first
 * answer; this one only bounds a worker that hangs while its heartbeats go on.
 */
const MODEL_STEP_TIMEOUT = 24 * 60 * 60 * 1000;

/** Delays after failures of the infrastructure; failures of models and tools bring their own next delay. */
const RETRY = { initialInterval: 1_000, maximumInterval: 30_000, backoffCoefficient: 2 };

/** A child that goes on by itself, whatever becomes of the workflow that has started it. */
export const BESIDE = {
  parentClosePolicy: 'ABANDON',
  cancellationType: 'ABANDON',
  workflowIdReusePolicy: 'ALLOW_DUPLICATE',
} as const;

export function modelStepOptions(summary: string, priority: Priority): ActivityOptions {
  return {
    priority,
    startToCloseTimeout: MODEL_STEP_TIMEOUT,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: RETRY,
    summary: cutSummary(summary),
  };
}

/** Callbacks of a call's and of a turn's end run in it, each bounded by the activity itself as a model call is. */
export function settleStepOptions(summary: string, priority: Priority): ActivityOptions {
  return modelStepOptions(summary, priority);
}

export function keepMessagesOptions(summary: string, priority: Priority): ActivityOptions {
  return { ...modelStepOptions(summary, priority), startToCloseTimeout: 60_000 };
}

export function deleteExpiredOptions(summary: string): ActivityOptions {
  return { ...modelStepOptions(summary, {}), startToCloseTimeout: 60 * 60_000 };
}

/** Embeddings may be away for long; the next turn's end reads what is left after a day. */
export function rememberSessionOptions(summary: string): ActivityOptions {
  return {
    ...modelStepOptions(summary, {}),
    startToCloseTimeout: 60 * 60_000,
    scheduleToCloseTimeout: 24 * 60 * 60_000,
    retry: { ...RETRY, maximumInterval: 10 * 60_000 },
  };
}

/** As the end of a call: its callbacks run in it. */
export function closeCallOptions(summary: string, priority: Priority): ActivityOptions {
  return modelStepOptions(summary, priority);
}

export function verifyDecisionOptions(summary: string, priority: Priority): ActivityOptions {
  return { ...modelStepOptions(summary, priority), startToCloseTimeout: 60_000 };
}

export function recordEntriesOptions(summary: string, priority: Priority): ActivityOptions {
  return { ...modelStepOptions(summary, priority), startToCloseTimeout: 60_000 };
}

/** The turn doesn't wait for it; a notice that can't be told within a day goes on beside the turn. */
export function notifyOptions(summary: string, priority: Priority): ActivityOptions {
  return {
    ...modelStepOptions(summary, priority),
    startToCloseTimeout: 5 * 60_000,
    scheduleToCloseTimeout: 24 * 60 * 60_000,
    cancellationType: 'TRY_CANCEL',
  };
}

/** It goes on until its time is over, which it sees to itself, as to how long it waits in between: this only bounds what never ends. */
export function deliverNoticeOptions(summary: string, priority: Priority): ActivityOptions {
  return {
    ...modelStepOptions(summary, priority),
    startToCloseTimeout: 5 * 60_000,
    scheduleToCloseTimeout: 2 * LONGEST_NOTICE_TIME,
  };
}

/** @param run from 1: a call that asks people runs again after their answer. */
export function callOptions(
  { callKey, summary }: PlannedCall,
  { heartbeat, startToClose, scheduleToClose }: ToolSchedule,
  { priority, run = 1 }: { priority: Priority; run?: number },
): ActivityOptions {
  return {
    priority,
    activityId: run === 1 ? callKey : `${callKey}/${run}`,
    heartbeatTimeout: heartbeat,
    startToCloseTimeout: startToClose,
    scheduleToCloseTimeout: scheduleToClose,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: RETRY,
    ...(summary === undefined ? {} : { summary: cutSummary(summary) }),
  };
}

/** Its agent has run: what is left is to settle the call. */
export function ranAgentOptions(
  { callKey, summary }: Pick<PlannedCall, 'callKey' | 'summary' | 'tool'>,
  { heartbeat }: ToolSchedule,
  priority: Priority,
): ActivityOptions {
  return {
    ...modelStepOptions(summary ?? '', priority),
    activityId: `${callKey}/ran`,
    heartbeatTimeout: heartbeat,
  };
}

/**
 * One look at a job after another, until its deadline: those that find nothing add nothing to the history. It is cancelled at once, as
 * nobody heartbeats where the outcome comes from elsewhere.
 */
export function waitOptions(
  call: CallOfJob,
  { timeLeft, look }: AwaitedJob,
  priority: Priority,
): ActivityOptions {
  return {
    priority,
    activityId: `${call.callKey}/wait`,
    startToCloseTimeout: look.startToClose,
    scheduleToCloseTimeout: Math.max(timeLeft, 1),
    ...defined({ heartbeatTimeout: look.heartbeat }),
    cancellationType: 'TRY_CANCEL',
    retry: { ...RETRY, maximumInterval: 5 * 60_000 },
    summary: cutSummary(jobSummary(call, 'job')),
  };
}

/** As a run of the tool; what comes of a job that no call waits for is not given up. */
export function endJobOptions(
  call: CallOfJob,
  { startToClose, scheduleToClose, heartbeat }: ToolSchedule,
  { why, detached, priority }: { why: string; detached?: true | undefined; priority: Priority },
): ActivityOptions {
  return {
    priority,
    activityId: `${call.callKey}/end`,
    heartbeatTimeout: heartbeat,
    startToCloseTimeout: startToClose,
    ...(detached ? {} : { scheduleToCloseTimeout: scheduleToClose }),
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: RETRY,
    summary: cutSummary(jobSummary(call, `job ${why}`)),
  };
}

export function recordJobOptions(summary: string, priority: Priority): ActivityOptions {
  return { ...modelStepOptions(summary, priority), startToCloseTimeout: 60_000 };
}

export function deliverJobOptions(summary: string, priority: Priority): ActivityOptions {
  return { ...modelStepOptions(summary, priority), startToCloseTimeout: 60_000 };
}

type CallOfJob = Pick<PlannedCall, 'callKey' | 'summary'>;

function jobSummary({ summary }: CallOfJob, what: string): string {
  return summary === undefined || summary === '' ? what : `${summary} · ${what}`;
}

/**
 * Cuts a summary to the length that the Temporal UI takes. A character is at most three bytes of UTF-8 per UTF-16 unit, and the
 * sandbox has no cheap way to count.
 */
export function cutSummary(summary: string): string {
  if (summary.length * 3 <= SUMMARY_LIMIT) return summary;
  let bytes = 0;
  let kept = '';
  for (const character of summary) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (bytes > SUMMARY_LIMIT - 3) return `${kept}…`;
    kept += character;
  }
  return kept;
}

/**
 * Checks the fields of an activity's result that this workflow uses. Anybody who may write to Temporal may have answered, and an
 * error of this workflow's own would hold its task for ever. An unusable result is a failure of the activity that isn't retried;
 * callers treat it as any other. The check runs in the same tick, so that the failure stands where the result stands in every
 * replay.
 *
 * @throws ActivityFailure
 */
export function usable<Result>(activity: string, shape: Shape, result: Result): Result {
  const problem = resultProblem(`activity ${activity}`, shape, result);
  if (problem === undefined) return result;
  const cause = ApplicationFailure.nonRetryable(problem, UNUSABLE.code);
  const failure = new ActivityFailure(
    problem,
    activity,
    undefined,
    'NON_RETRYABLE_FAILURE',
    undefined,
    cause,
  );
  // They would say where the worker is installed.
  cause.stack = '';
  failure.stack = '';
  throw failure;
}

/** The problem of an activity's result, if the result caused the failure. */
export function unusableText(error: unknown): string | undefined {
  if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) return undefined;
  return error.cause.type === UNUSABLE.code ? error.cause.message : undefined;
}

export type Priority = NonNullable<ActivityOptions['priority']>;

/** The user of the turn or job. */
export interface User {
  app: string;
  userId: string;
}

/**
 * How Temporal puts the activities of a user's turns, and of jobs, into the order of a queue: users of an app have equal shares of
 * its workers, and within them lower priorities go first.
 *
 * @param priority of the message that the activity works for; one that the workflow was started with is another message's.
 */
export function turnPriority({ app, userId }: User, priority?: number): Priority {
  const fairnessKey = fairnessKeyOf(app, userId);
  const inherited = workflowInfo().priority?.priorityKey;
  const priorityKey = priority ?? (inherited ? DEFAULT_PRIORITY : undefined);
  return { fairnessKey, ...defined({ priorityKey }) };
}
