import { CallbackFailed } from '../../src/agents/callback-failed.ts';
import type { AwaitedJob } from '../../src/protocol/job.ts';
import type { SettleCall } from '../../src/store/store.ts';
import { afterTime } from '../after-time.ts';
import type { Attempt } from '../attempt.ts';
import { whicheverComesFirst } from '../race.ts';
import { effectsOf } from './call-context.ts';
import type { CalledTool, ToolCallbacks } from './tool-callbacks.ts';
import { describeFailure, storeErrorIn } from './tool-failure.ts';

/** What a call is settled with. */
export interface CallOutcome extends Pick<SettleCall, 'response' | 'failed' | 'actions' | 'parts' | 'stack'> {
  /** The response is what callbacks made of an error, and may quote it. Left out where `failed` says so. */
  answersError?: true;
  /** The response is an intermediate one: this job goes on without the turn. */
  detached?: AwaitedJob;
}

/** Milliseconds that callbacks have at least, once their tool has used up its own time; less than the margin of its schedule. */
export const LEAST_CALLBACK_TIME = 4_000;

export interface FailedCall {
  call: CalledTool;
  thrown: unknown;
  /** The response where no callback has another one. Defaults to the error's text. */
  unanswered?: Record<string, unknown>;
  /** Milliseconds that the callbacks may take. */
  time: number;
  current?: Pick<Attempt, 'signal' | 'aborted'>;
}

/**
 * What a call comes to that has failed for good. What its callbacks do beside their answer counts; where they fail
 * themselves, that is the outcome.
 */
export async function outcomeOfFailure(
  callbacks: ToolCallbacks,
  { call, thrown, unanswered: response, time, current }: FailedCall,
): Promise<CallOutcome> {
  const unanswered = { ...errorOutcome(thrown), ...(response === undefined ? {} : { response }) };
  if (!callbacks.hearFailures) return unanswered;
  const late = afterTime(time);
  try {
    const answer = callbacks.failed(call, thrown, unanswered.response);
    const response = await whicheverComesFirst(answer, [
      ...(current === undefined ? [] : [[current.signal, current.aborted] as const]),
      [late.signal, () => callbackTooLate(call, 'onToolErrorCallback or afterToolCallback', time)],
    ]);
    const failed = Object.hasOwn(response, 'error');
    return { ...unanswered, response, failed, actions: effectsOf(call.context), answersError: true };
  } catch (error) {
    if (current?.signal.aborted) throw current.aborted();
    return errorOutcome(error);
  } finally {
    late.clear();
  }
}

/** @throws StoreError where that is what was thrown: it is nobody's failure here. */
export function errorOutcome(thrown: unknown): CallOutcome {
  const storeError = storeErrorIn(thrown);
  if (storeError !== undefined) throw storeError;
  const { message, stack } = describeFailure(thrown);
  return {
    response: { error: message },
    failed: true,
    actions: {},
    ...(stack === undefined ? {} : { stack }),
  };
}

export function callbackTooLate(
  { tool, context }: Pick<CalledTool, 'tool' | 'context'>,
  callback: string,
  time: number,
): CallbackFailed {
  const problem = `no answer for tool '${tool.name}' within ${time} ms`;
  return new CallbackFailed({ agent: context.agentName, callback, problem, retryable: true });
}
