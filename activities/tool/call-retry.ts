import { TOOL_FAILED } from '../../src/protocol/names.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { BegunCall } from '../../src/store/store.ts';
import type { ResolvedDurableOptions } from '../../src/tools/durable-options.ts';
import { retryLater } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger, type HoldfastLogger } from '../logging.ts';
import { describeFailure } from './tool-failure.ts';

export type StartedCall = Extract<BegunCall, { kind: 'started' }>;

/** A call that has begun, and what decides how it is tried again. */
export interface TriedCall {
  input: ToolCallInput;
  begun: StartedCall;
  /** The tool's name. */
  tool: string;
  durable: Pick<ResolvedDurableOptions, 'retry' | 'sensitive'>;
}

/**
 * Records a failure that another attempt may mend.
 *
 * @throws what has that attempt come; returns where none follows.
 */
export async function retryUnlessSpent(
  dependencies: ActivityDependencies,
  call: TriedCall,
  thrown: unknown,
): Promise<void> {
  const { message, stack, retryable } = describeFailure(thrown);
  if (!retryable) return;
  const { input, begun, tool, durable } = call;
  const { session, callKey } = input;
  const failures = await dependencies.store.recordCallFailure({
    session,
    callKey,
    error: message,
    attempt: begun.attempt,
  });
  const isHidden = hidesTexts(dependencies, durable);
  loggerOf(dependencies, call).warn(isHidden ? `tool ${tool} failed` : message, {
    failures,
    ...(isHidden || stack === undefined ? {} : { stack }),
  });
  if (failures >= durable.retry.maximumAttempts) return;
  throw retryLater(TOOL_FAILED, isHidden ? `Error in tool '${tool}'` : message, {
    delay: delayOf(durable, begun.failures),
  });
}

/** Records that an attempt has started nothing: the next one finds no unknown outcome. */
export async function hasNotRun(
  { store }: Pick<ActivityDependencies, 'store'>,
  { input, begun }: Pick<TriedCall, 'input' | 'begun'>,
  thrown: unknown,
): Promise<void> {
  const { session, callKey } = input;
  const { message: error } = describeFailure(thrown);
  await store.recordCallFailure({ session, callKey, error, counts: false, attempt: begun.attempt });
}

export function loggerOf(
  dependencies: ActivityDependencies,
  { input, begun, tool }: Pick<TriedCall, 'input' | 'begun' | 'tool'>,
): HoldfastLogger {
  const { app, sessionId } = begun.names;
  const { invocationId } = begun;
  const { callKey, agent } = input;
  return callLogger(dependencies, { app, sessionId, invocationId, callKey, agent, tool });
}

/** Whether texts of the tool's failures, which may quote its arguments, are kept from Temporal and the logs. */
export function hidesTexts(
  { conceal }: ActivityDependencies,
  { sensitive }: Pick<ResolvedDurableOptions, 'sensitive'>,
): boolean {
  return conceal || sensitive !== false;
}

function delayOf({ retry }: Pick<ResolvedDurableOptions, 'retry'>, failures: number): number {
  return Math.min(retry.initialInterval * retry.backoffCoefficient ** failures, retry.maximumInterval);
}
