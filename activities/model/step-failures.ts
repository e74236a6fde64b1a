import { activityInfo } from '@temporalio/activity';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import { hasCode } from '../../src/contract/error.ts';
import { type AskedStep, draftFromError, recordOf, type StepResponse } from '../../src/flows/step-draft.ts';
import { rateLimitIn, toModelError } from '../../src/models/model-errors.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import type { TurnError } from '../../src/protocol/turn.ts';
import { causesOf, thrownMessage } from '../../src/schema/thrown-message.ts';
import { StoreError } from '../../src/store/store-errors.ts';
import { type ResolvedRetryOptions, resolveRetryOptions } from '../../src/tools/retry-options.ts';
import { isLastRefusal, retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger, framesOf } from '../logging.ts';
import { storeErrorIn } from '../tool/tool-failure.ts';
import type { OpenStep, StepParts } from './step-parts.ts';

export const RATE_LIMITED = 'HOLDFAST_MODEL_RATE_LIMITED';

/** Callbacks of agents without a model are tried again as a model is by default. */
const DEFAULT_RETRY = resolveRetryOptions('BaseAgent', 'modelRetry', undefined);

type Place = Pick<StepParts, 'dependencies' | 'input' | 'opened' | 'place' | 'agent' | 'asked'>;

export interface StepFailure {
  code: string;
  message: string;
  retryable: boolean;
  /** A failure of the provider's own counts; being told to wait doesn't. */
  counts: boolean;
  retryAfterMs?: number | undefined;
  /** Calls of the model that the failure stands for. */
  modelCalls: number;
  /** The model's error, for error callbacks; user code's own failures aren't told. */
  error?: Error;
  /** User code's own failure, as it came. */
  thrown?: unknown;
}

/** @param asked whether the model was, so that the failure is its own. */
export function failureOf(error: unknown, asked: boolean): StepFailure {
  const limit = asked ? undefined : rateLimitIn(error);
  if (limit !== undefined) {
    // User code has asked a model: a summariser, a router, a callback.
    const of = { code: RATE_LIMITED, message: thrownMessage(error), modelCalls: 0, thrown: error };
    return { ...of, ...limit, retryable: true, counts: false };
  }
  if (!asked && isOwn(error)) {
    const { code, message } = error;
    return { code, message, retryable: error.retryable === true, counts: true, modelCalls: 0, thrown: error };
  }
  const failure = toModelError(error);
  const { code, message, retryable, countsAsFailure, retryAfterMs, wasSent } = failure;
  return {
    code,
    message,
    retryable,
    counts: countsAsFailure,
    retryAfterMs,
    modelCalls: asked && wasSent ? 1 : 0,
    ...(asked ? { error: error instanceof Error ? error : failure } : {}),
  };
}

/** The store's own failure, where user code only passed on an outage as well: the step is tried again, and nobody has failed. */
export function outageIn(error: unknown): StoreError | undefined {
  if (error instanceof StoreError) return error;
  const passed = storeErrorIn(error);
  return passed?.retryable === true ? passed : undefined;
}

/**
 * Records that an attempt of a step has failed, and has the step tried again, unless this was the last attempt.
 *
 * @throws the failure that Temporal retries.
 */
export async function retriedUnlessLast(step: Place, failure: StepFailure): Promise<void> {
  const { dependencies, opened, agent, asked, place, input } = step;
  const { code, message, retryable, counts, retryAfterMs, thrown } = failure;
  if (!retryable) return;
  const { conceal, store } = dependencies;
  const failures = await store.turns.recordStepFailure({
    session: opened.session,
    runKey: input.runKey,
    step: input.step,
    error: message,
    counts,
    attempt: opened.attempt,
  });
  const text = conceal ? `model step failed: ${code}` : `model step failed: ${message}`;
  callLogger(dependencies, { ...place, agent: agent.name }).warn(text, {
    model: asked.model,
    failures,
    ...whereItFailed(thrown, conceal),
  });
  if (counts && failures >= retryOf(agent).maximumAttempts) return;
  throw retryLater(code, conceal ? text : message, {
    delay: retryAfterMs ?? delayOf(agent, opened.attempt),
    benign: !counts,
  });
}

/**
 * The error of user code from before the model call: the last failure that counts ends the turn.
 *
 * @throws an error after which the step is tried again.
 */
export async function failedUserCode(step: StepParts, error: unknown): Promise<TurnError> {
  const { asked, current, opened, report } = step;
  if (current.signal.aborted) throw current.aborted();
  // An outage counts as no failure of the model or of user code.
  const outage = outageIn(error);
  if (outage !== undefined) throw outage;
  if (hasCode(error, 'HOLDFAST_BUDGET_EXCEEDED')) return error;
  const failure = failureOf(error, false);
  report.failed(opened, asked, failure.code);
  await retriedUnlessLast(step, failure);
  return failure;
}

/** Logs a failure of user code that doesn't change the turn. */
export function logFailed(
  { dependencies, place, agent }: Pick<Place, 'dependencies' | 'place' | 'agent'>,
  error: unknown,
): void {
  const { code, message } = turnErrorOf(error);
  const { conceal } = dependencies;
  const text = conceal ? `user code failed: ${code}` : message;
  callLogger(dependencies, { ...place, agent: agent.name }).warn(text, {
    code,
    ...whereItFailed(error, conceal),
  });
}

function whereItFailed(error: unknown, conceal: boolean): { stack?: string } {
  try {
    const causes = causesOf(error);
    const thrown = causes.find((each) => !isOwn(each)) ?? causes.at(-1);
    if (thrown === error || !(thrown instanceof Error) || typeof thrown.stack !== 'string') return {};
    return { stack: conceal ? framesOf(thrown) : thrown.stack };
  } catch {
    // Anything may have been thrown, and a proxy or a getter that throws tells nothing.
    return {};
  }
}

export function turnErrorOf(error: unknown): { code: string; message: string } {
  const isCoded = error instanceof Error && 'code' in error && typeof error.code === 'string';
  return {
    code: isCoded ? (error.code as string) : 'HOLDFAST_CALLBACK_FAILED',
    message: thrownMessage(error),
  };
}

/** An error with a stable code: of a callback, a plugin, a toolset, an instruction. */
function isOwn(error: unknown): error is Error & { code: string; retryable?: unknown } {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('HOLDFAST_')
  );
}

/** Milliseconds until the next attempt, by the agent's own retry options. */
function delayOf(agent: BaseAgent, attempt: number): number {
  const { initialInterval, backoffCoefficient, maximumInterval } = retryOf(agent);
  return Math.min(initialInterval * backoffCoefficient ** (attempt - 1), maximumInterval);
}

function retryOf(agent: BaseAgent): ResolvedRetryOptions {
  return isLlmAgent(agent) ? agent.durable.modelRetry : DEFAULT_RETRY;
}

/**
 * Runs a step, and ends the turn for an error that only a mistake of ours explains: on the last attempt, after about a minute, as
 * for an agent that no worker has. Until then a worker of another version may get further; after it the session would be kept busy
 * for nothing.
 *
 * @throws an error after which the step is tried again.
 */
export async function boundedly(
  { store, conceal }: ActivityDependencies,
  { runKey, step }: CallModelInput,
  { asked, opened }: { asked: AskedStep; opened: OpenStep },
  work: () => Promise<StepResponse>,
): Promise<StepResponse> {
  try {
    return await work();
  } catch (error) {
    if (!isMistake(error)) throw error;
    const attempts = Math.min(activityInfo().attempt, opened.attempt);
    const text = conceal ? `${error.name}; the log has its text` : `${error.name}: ${error.message}`;
    if (!isLastRefusal(attempts)) {
      // This is no failure of the model: it doesn't count.
      const { session, attempt } = opened;
      await store.turns.recordStepFailure({ session, runKey, step, error: text, counts: false, attempt });
      throw error;
    }
    const message = `the step has failed ${attempts} times, by an unexpected error: ${text}`;
    return recordOf(draftFromError(asked, { code: 'HOLDFAST_UNEXPECTED', message }));
  }
}

/** Thrown by the language; those of a connection, which comes back, have a cause. */
function isMistake(error: unknown): error is Error {
  return (error instanceof TypeError || error instanceof RangeError) && error.cause === undefined;
}
