import { HoldfastError } from '../../src/contract/error.ts';
import type { JobOutcome, JobRow } from '../../src/contract/jobs.ts';
import { defined } from '../../src/protocol/json.ts';
import { formatDuration } from '../../src/schema/duration.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { toFunctionResponse } from '../../src/tools/function-response.ts';
import type { JobView } from '../../src/tools/job-options.ts';
import { mediaOf } from '../../src/tools/media.ts';
import type { Attempt } from '../attempt.ts';
import { inTime } from '../deadline.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger, type HoldfastLogger } from '../logging.ts';
import { effectsOf } from '../tool/call-context.ts';
import { describeFailure, hidesTexts, storeErrorIn } from '../tool/tool-failure.ts';
import type { JobHookContext } from './job-hook-context.ts';
import { type OutcomeNotes, recordOutcomeNotes } from './job-notes.ts';

/** A job in process may run for days; nothing that only asks about one should. Milliseconds. */
const LONGEST_HOOK = 300_000;

type HookName = 'poll' | 'cancel' | 'onTimeout';
type Hook = (job: JobView, toolContext: Context) => unknown;

interface HookAnswer {
  value: unknown;
  context: Context;
}

export function hookTime({ durable }: BaseTool): number {
  return Math.min(durable.timeout, LONGEST_HOOK);
}

/**
 * Asks a hook of a job's tool.
 *
 * @throws the hook's error, and the error that ends an aborted attempt.
 */
export async function askHook(
  hookContext: JobHookContext,
  name: HookName,
  hook: Hook,
  current: Attempt,
): Promise<HookAnswer> {
  const time = hookTime(hookContext.tool);
  const ask = async (late: AbortSignal): Promise<HookAnswer> => {
    await hookContext.openCredentials();
    const view = await hookContext.view();
    const context = hookContext.toolContext(AbortSignal.any([current.signal, late]));
    return { value: await hook(view, context), context };
  };
  const text = `Error in tool '${hookContext.tool.name}': ${name} has not answered within ${time} ms`;
  return await inTime(ask, {
    time,
    late: () => new HoldfastError('HOLDFAST_JOB_HOOK_TIMEOUT', text),
    current,
  });
}

/** A hook's value as the outcome of its job, as if the tool had returned it. The hook's other effects are kept for it. */
export async function outcomeOfHook(
  { store }: Pick<ActivityDependencies, 'store'>,
  { tool, row: { session, callKey } }: JobHookContext,
  { value, context }: HookAnswer,
): Promise<JobOutcome> {
  const checked = await tool.readResult(value);
  const media = mediaOf(checked);
  const response = media?.response ?? toFunctionResponse(checked);
  const actions = effectsOf(context);
  const notes: OutcomeNotes = {
    ...(isEmpty(actions) ? {} : { actions }),
    ...(media === undefined ? {} : { parts: media.parts, ...defined({ trusted: media.trusted }) }),
  };
  await recordOutcomeNotes(store, { session, callKey }, response, notes);
  return { response, failed: false };
}

/** The outcome of a job that is out of time: the answer of its tool's hook, else an error. */
export async function outcomeOfTimeout(
  dependencies: ActivityDependencies,
  hookContext: JobHookContext,
  text: string,
  current: Attempt,
): Promise<JobOutcome> {
  const unanswered = timeoutError(hookContext.row, text);
  const { onTimeout } = hookContext.tool.job;
  if (onTimeout === undefined) return unanswered;
  try {
    const answer = await askHook(hookContext, 'onTimeout', onTimeout, current);
    if (answer.value === undefined || answer.value === null) return unanswered;
    return await outcomeOfHook(dependencies, hookContext, answer);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    const storeError = storeErrorIn(error);
    if (storeError !== undefined) throw storeError;
    warnOfHook(dependencies, hookContext, 'onTimeout', error);
    return unanswered;
  }
}

export function timeoutError({ tool }: Pick<JobRow, 'tool'>, text: string): JobOutcome {
  return { response: { error: `Error in tool '${tool}': ${text}` }, failed: true };
}

/** Error text of a job without an outcome. */
export function outOfTime({ since, until }: Pick<JobRow, 'since' | 'until'>): string {
  return `its job had no outcome within ${formatDuration(Math.max(until - since, 0))} (its deadline)`;
}

export function warnOfHook(
  dependencies: ActivityDependencies,
  { row, tool }: Pick<JobHookContext, 'row' | 'tool'>,
  name: HookName,
  thrown: unknown,
): void {
  const isHidden = hidesTexts(dependencies, tool.durable);
  const { message, stack } = describeFailure(thrown);
  loggerOfJob(dependencies, row).warn(`${name} of tool ${tool.name} failed`, {
    ...(isHidden ? {} : { problem: message }),
    ...(isHidden || stack === undefined ? {} : { stack }),
  });
}

export function loggerOfJob(dependencies: ActivityDependencies, row: JobRow): HoldfastLogger {
  const { app, sessionId, invocationId, callKey, agent, tool } = row;
  return callLogger(dependencies, { app, sessionId, invocationId, callKey, agent, tool });
}

function isEmpty(actions: CallActions): boolean {
  return Object.keys(actions).length === 0;
}

const CANCEL_HOOK_DONE = 'holdfast:job-cancelled';
const CANCEL_HOOK_FAILED = 'holdfast:job-not-cancelled';

/**
 * Tells who does a job that its outcome is not wanted any more: once, unless that fails.
 *
 * @returns milliseconds until it should be tried again; undefined where it was told, or was tried often enough.
 */
export async function runCancelHook(
  dependencies: ActivityDependencies,
  hookContext: JobHookContext,
  current: Attempt,
): Promise<number | undefined> {
  const { store } = dependencies;
  const { tool, row } = hookContext;
  const { session, callKey } = row;
  const { cancel } = tool.job;
  if (cancel === undefined) return undefined;
  const once = await store.turns.readOnce({ session, callKey });
  if (Object.hasOwn(once, CANCEL_HOOK_DONE)) return undefined;
  try {
    await askHook(hookContext, 'cancel', cancel, current);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    const storeError = storeErrorIn(error);
    if (storeError !== undefined) throw storeError;
    warnOfHook(dependencies, hookContext, 'cancel', error);
    const { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval } = tool.durable.retry;
    let failures = 1;
    while (Object.hasOwn(once, `${CANCEL_HOOK_FAILED}/${failures}`)) failures += 1;
    await store.turns.recordOnce({ session, callKey, key: `${CANCEL_HOOK_FAILED}/${failures}`, value: true });
    if (failures >= maximumAttempts) return undefined;
    return Math.min(initialInterval * backoffCoefficient ** (failures - 1), maximumInterval);
  }
  await store.turns.recordOnce({ session, callKey, key: CANCEL_HOOK_DONE, value: true });
  return undefined;
}
