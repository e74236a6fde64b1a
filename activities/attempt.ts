import {
  Context as ActivityContext,
  ApplicationFailure,
  activityInfo,
  CancelledFailure,
  CompleteAsyncError,
} from '@temporalio/activity';
import { ApplicationFailureCategory, TemporalFailure } from '@temporalio/common';
import { defined } from '../src/protocol/json.ts';
import { excerpt } from '../src/protocol/visible-text.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';
import { LONGEST_TIMER } from './deadline.ts';

/** Heartbeats this much more often than Temporal expects them, so that one late beat is no death. */
const BEATS_PER_TIMEOUT = 3;

/** Milliseconds that an attempt needs to say why it has failed. */
const FAILURE_MARGIN = 1_000;

const LONGEST_MESSAGE = 1_000;
const REFUSALS = 7;
/** About seven seconds. */
const SEARCHES = 4;
const RETRIES = new WeakSet<object>();

export interface Attempt {
  /** It is a call that the activity of its step runs: nothing of it can outlive that. */
  isInline?: boolean;
  /** Fires on cancellation, on the loss of the attempt, and when the worker shuts down. */
  signal: AbortSignal;
  /** The error of an aborted attempt: cancelled by the workflow, or to be tried again because this worker goes away. */
  aborted(): Error;
  /** Whether the signal has fired for this worker's sake only: another attempt follows. */
  isRetried(): boolean;
  /** Whether the workflow has cancelled it: no other attempt follows. */
  isCancelled(): boolean;
  heartbeat(details?: unknown): void;
  /** Milliseconds until Temporal gives this attempt up, a moment to say so left out. */
  timeLeft(): number;
}

export interface AttemptOptions {
  /** Told of what no code of ours means to throw, a bug most likely; its stack is lost after this. */
  onUnexpected?: (error: Error) => void;
  /** Keeps the texts of such errors, which may quote anything, from Temporal. */
  conceal?: boolean;
}

/**
 * Runs an activity's body with automatic heartbeats and turns what it throws into failures that Temporal shows and acts
 * on. The first beat comes late: one at the start of each activity costs a turn of short calls a fifth of its speed.
 */
export async function attempt<T>(
  body: (attempt: Attempt) => Promise<T>,
  options: AttemptOptions = {},
): Promise<T> {
  const context = ActivityContext.current();
  const { heartbeatTimeoutMs, startToCloseTimeoutMs } = context.info;
  const ends = performance.now() + startToCloseTimeoutMs - FAILURE_MARGIN;
  let details: unknown;
  const beat = () => context.heartbeat(details);
  const timer =
    heartbeatTimeoutMs === undefined
      ? undefined
      : setInterval(beat, Math.min(heartbeatTimeoutMs / BEATS_PER_TIMEOUT, LONGEST_TIMER));
  try {
    return await body({
      signal: context.cancellationSignal,
      aborted: () => abortOf(context.cancellationDetails),
      isRetried: () => isRetried(context.cancellationDetails),
      isCancelled: () => context.cancellationDetails?.cancelRequested === true,
      heartbeat(given) {
        details = given;
        beat();
      },
      timeLeft: () => ends - performance.now(),
    });
  } catch (thrown) {
    // The activity is completed from outside: this is no failure.
    if (thrown instanceof CompleteAsyncError) throw thrown;
    const error = errorOf(thrown);
    if (!isUnexpected(error)) throw failureOf(error);
    options.onUnexpected?.(error);
    throw failureOf(
      error,
      options.conceal ? 'unexpected error; its text is kept from Temporal' : error.message,
    );
  } finally {
    clearInterval(timer);
  }
}

/**
 * The attempt, and what ends it for a reason of its own: another one has taken its place, and Temporal takes no answer of this one.
 *
 * @returns `end`, whose error is what the attempt throws from then on.
 */
export function endable(attempt: Attempt): { current: Attempt; end: (reason: Error) => void } {
  const ended = new AbortController();
  const { signal } = ended;
  const current = {
    ...attempt,
    signal: AbortSignal.any([attempt.signal, signal]),
    aborted: (): Error => (signal.aborted ? signal.reason : attempt.aborted()),
    isRetried: () => signal.aborted || attempt.isRetried(),
  };
  return { current, end: (reason) => ended.abort(reason) };
}

/**
 * Whether this is the last attempt that a worker without the agent or tool may refuse: with the back-off of infrastructure
 * failures that is about a minute of workers that run, however long none ran before.
 *
 * @param attempt without those that have waited. Defaults to the activity's.
 */
export function isLastRefusal(attempt = activityInfo().attempt): boolean {
  return attempt >= REFUSALS;
}

/** {@link isLastRefusal} for a tool that the toolsets of its agent, which were asked, do not have any more. */
export function isLastSearch(): boolean {
  return activityInfo().attempt >= SEARCHES;
}

export function retryLater(
  type: string,
  message: string,
  options: { delay?: number; benign?: boolean; details?: string } = {},
): ApplicationFailure {
  const failure = withoutStack(
    ApplicationFailure.create({
      type,
      message: excerpt(message, LONGEST_MESSAGE),
      ...defined({ nextRetryDelay: options.delay }),
      ...(options.details === undefined ? {} : { details: [options.details] }),
      ...(options.benign ? { category: ApplicationFailureCategory.BENIGN } : {}),
    }),
  );
  RETRIES.add(failure);
  return failure;
}

/** Whether it is {@link retryLater}'s: no failure of user code. */
export function isRetryLater(thrown: unknown): boolean {
  return typeof thrown === 'object' && thrown !== null && RETRIES.has(thrown);
}

type CancellationDetails = ActivityContext['cancellationDetails'];

function isRetried(details: CancellationDetails): boolean {
  return details?.workerShutdown === true && !details.cancelRequested;
}

function abortOf(details: CancellationDetails): Error {
  if (!isRetried(details)) return new CancelledFailure('CANCELLED');
  return retryLater('WorkerShutdown', 'the worker is shutting down; another attempt follows', {
    benign: true,
  });
}

function failureOf(error: Error, message = error.message): Error {
  if (error instanceof TemporalFailure) return error;
  // A stable code leads from the Temporal UI to its section of the documents.
  const type = codeOf(error) ?? error.name;
  const nonRetryable = 'retryable' in error && error.retryable === false;
  return withoutStack(
    ApplicationFailure.create({ type, message: excerpt(message, LONGEST_MESSAGE), nonRetryable }),
  );
}

function errorOf(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
  } catch {
    // A revoked proxy answers no question at all.
  }
  return Object.assign(new Error(thrownMessage(thrown)), { code: 'HOLDFAST_UNEXPECTED' });
}

/** Node's own errors have codes too. */
function isUnexpected(error: Error): boolean {
  const code = codeOf(error);
  const isOurs = code?.startsWith('HOLDFAST_') === true && code !== 'HOLDFAST_UNEXPECTED';
  return !isOurs && !(error instanceof TemporalFailure);
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Stacks go to the log and the ledger; the history is read by everybody who may see the namespace. */
export function withoutStack<Failure extends Error>(failure: Failure): Failure {
  failure.stack = '';
  return failure;
}
