import { isAnySensitive } from '../../src/approvals/sensitive.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import type { ErrorCode } from '../../src/contract/error-codes.ts';
import { ToolsetFailed } from '../../src/flows/resolve-tools.ts';
import { rateLimitIn } from '../../src/models/model-errors.ts';
import { TOOL_FAILED } from '../../src/protocol/names.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { causesOf, thrownField, thrownMessage } from '../../src/schema/thrown-message.ts';
import { ArtifactCollected, StoreError } from '../../src/store/store-errors.ts';
import type { BegunCall } from '../../src/store/turns/call-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { type ResolvedDurableOptions, resolveDurableOptions } from '../../src/tools/durable-options.ts';
import { isToolError } from '../../src/tools/tool-error.ts';
import { NotDeployedHere } from '../agents.ts';
import { type Attempt, isLastRefusal, retryLater, withoutStack } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger, type HoldfastLogger } from '../logging.ts';

/** An attempt of a tool took longer than its timeout; it may still have its effect. */
export function toolTimeout(tool: BaseTool): HoldfastError {
  const message = `Error in tool '${tool.name}': no result within ${tool.durable.timeout} ms (its timeout)`;
  return new HoldfastError('HOLDFAST_TOOL_TIMEOUT', message);
}

/**
 * An earlier attempt may have had its effect: the outcome is unknown.
 *
 * @param cause the error of the tool that doesn't know it, or of a later attempt.
 */
export function unknownOutcome(cause?: unknown): HoldfastError {
  const reason = cause === undefined ? '' : ` (${describeFailure(cause).message})`;
  const message = `outcome unknown: this call may have run; check before repeating it${reason}`;
  return withoutStack(new HoldfastError('HOLDFAST_UNKNOWN_OUTCOME', message, { cause }));
}

/** The arguments that would run differ from the approved ones. Nothing has run. */
export function toolChanged(how?: string): HoldfastError {
  const message = 'tool changed since the approval';
  return notOfTheTool('HOLDFAST_TOOL_CHANGED', how === undefined ? message : `${message}: ${how}`);
}

/** A call has asked, and no answer came in time. */
export function neverAnswered(kind: 'credential' | 'input'): HoldfastError {
  const what = kind === 'input' ? 'answer' : 'credential';
  return notOfTheTool('HOLDFAST_NEVER_ANSWERED', `nobody has given the ${what} that this call waited for`);
}

/** A call asks, and asks again. */
export function tooManyRequests(tool: BaseTool): HoldfastError {
  return notOfTheTool(
    'HOLDFAST_ASKS_TOO_OFTEN',
    `Error in tool '${tool.name}': a call asks people too often`,
  );
}

/** The error of a call whose attempts all died before they settled it. */
export function unsettledCall(message: string): HoldfastError {
  return notOfTheTool('HOLDFAST_UNSETTLED_CALL', message);
}

/** Its stack would say nothing about the tool. */
function notOfTheTool(code: ErrorCode, message: string): HoldfastError {
  return withoutStack(new HoldfastError(code, message));
}

/** The recorded failure of an earlier attempt, without a stack: a stack would be that of this attempt. */
export function recordedFailure(message: string): Error {
  return withoutStack(new Error(message));
}

interface ToolFailure {
  message: string;
  stack: string | undefined;
  retryable: boolean;
  /** Milliseconds. */
  retryAfter: number;
}

/** Milliseconds that a tool may put off its next attempt. */
const LONGEST_PUT_OFF = 3_600_000;

/** A value that a tool threw: it may be of any type, with getters that throw. */
export function describeFailure(thrown: unknown): ToolFailure {
  const stack = thrownField(thrownField(thrown, 'cause'), 'stack') ?? thrownField(thrown, 'stack');
  const retryAfter = rateLimitIn(thrown)?.retryAfterMs ?? thrownField(thrown, 'retryAfter');
  return {
    message: thrownMessage(thrown),
    stack: typeof stack === 'string' && stack !== '' ? stack : undefined,
    retryable: thrownField(thrown, 'retryable') !== false,
    retryAfter: typeof retryAfter === 'number' && retryAfter > 0 ? Math.min(retryAfter, LONGEST_PUT_OFF) : 0,
  };
}

/** A thrown value as an error, for user code. */
export function errorOf(thrown: unknown): Error {
  return isA(Error, thrown) ? thrown : new Error(thrownMessage(thrown), { cause: thrown });
}

/** The store's own failure, where a tool only passed it on: it is not the tool's. */
export function storeErrorIn(thrown: unknown): StoreError | undefined {
  // Bytes that a tool has saved and left for too long are its own failure: the store serves.
  return causesOf(thrown).find(
    (error): error is StoreError => isA(StoreError, error) && !isA(ArtifactCollected, error),
  );
}

export function isToolTimeout(thrown: unknown): boolean {
  return isA(HoldfastError, thrown) && thrown.code === 'HOLDFAST_TOOL_TIMEOUT';
}

/** Whether the tool itself may have had its effect, and doesn't know. */
export function isUnknownOutcome(thrown: unknown): boolean {
  return isToolTimeout(thrown) || (isA(HoldfastError, thrown) && thrown.code === 'HOLDFAST_UNKNOWN_OUTCOME');
}

/** Under which a call's `once` results say that an attempt may have had its effect. */
const MAY_HAVE_RUN = 'holdfast:may-have-run';

/** Records that the call may have run: attempts after this one know it, also where this one ends as a failed one, or with a question. */
export async function recordMayHaveRun(
  { store }: Pick<ActivityDependencies, 'store'>,
  { session, callKey }: Pick<ToolCallInput, 'session' | 'callKey'>,
): Promise<void> {
  await store.turns.recordOnce({ session, callKey, key: MAY_HAVE_RUN, value: true });
}

/**
 * The error with which a call ends, on every way out: a call that may have run is of unknown outcome, whatever its last attempt says.
 *
 * @param call undefined for one that nobody has begun, or that may be made again without harm.
 */
export function endingError(
  call: Pick<StartedCall, 'unknown' | 'once'> | undefined,
  thrown: unknown,
): unknown {
  const isUnknown = isUnknownOutcome(thrown);
  // One of ours says so itself.
  if (call === undefined || (isUnknown && !isToolError(thrown))) return thrown;
  return isUnknown || call.unknown || call.once[MAY_HAVE_RUN] === true ? unknownOutcome(thrown) : thrown;
}

/** `instanceof` throws for some values that can be thrown, a revoked proxy for one. */
function isA<T>(type: abstract new (...args: never[]) => T, value: unknown): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

export type StartedCall = Extract<BegunCall, { kind: 'started' }>;

/** A call that has begun, with its retry options. */
export interface TriedCall {
  input: ToolCallInput;
  begun: StartedCall;
  tool: string;
  durable: Pick<ResolvedDurableOptions, 'retry' | 'sensitive' | 'onUnknownOutcome'>;
}

/**
 * Records a failure that another attempt may mend.
 *
 * @param ending the call's error, where no attempt is in time any more.
 * @throws an error after which that attempt comes; returns where no attempt follows.
 */
export async function retryUnlessSpent(
  dependencies: ActivityDependencies,
  call: TriedCall,
  thrown: unknown,
  ending: unknown,
): Promise<void> {
  const { message, stack, retryable, retryAfter } = describeFailure(thrown);
  if (!retryable) return;
  const { input, begun, tool, durable } = call;
  // By the provider of a model that the tool has asked: no failure of the tool, where another run does no more than the first one.
  const isLimited = rateLimitIn(thrown) !== undefined && durable.onUnknownOutcome === 'retry';
  const { session, callKey } = input;
  const failures = await dependencies.store.turns.recordCallFailure({
    session,
    callKey,
    error: message,
    counts: !isLimited,
    attempt: begun.attempt,
  });
  const isHidden = hidesTexts(dependencies, durable);
  loggerOf(dependencies, call).warn(isHidden ? `tool ${tool} failed` : message, {
    failures,
    ...(isHidden || stack === undefined ? {} : { stack }),
  });
  const { maximumAttempts } = durable.retry;
  if (!isLimited && failures >= maximumAttempts) return;
  const hidden = ending === thrown ? `Error in tool '${tool}'` : unknownOutcome().message;
  throw retryLater(TOOL_FAILED, isHidden ? hidden : describeFailure(ending).message, {
    // Temporal counts attempts as well, and knows of no limit. The message may become what the model is told.
    details: `failure ${failures} of ${maximumAttempts}`,
    delay: Math.max(delayOf(durable, isLimited ? begun.attempt - 1 : begun.failures), retryAfter),
  });
}

/** Retry options of a call whose tool isn't known. */
const DEFAULT_OPTIONS = resolveDurableOptions({});

/**
 * Has a call tried again whose tool can't be had. A person may have approved it: a toolset whose service is restarted gets as long as a
 * worker.
 */
export async function retryWithoutTool(
  dependencies: ActivityDependencies,
  call: Omit<TriedCall, 'durable'>,
  error: unknown,
  { signal, aborted }: Pick<Attempt, 'signal' | 'aborted'>,
): Promise<void> {
  if (signal.aborted || error instanceof NotDeployedHere) await hasNotRun(dependencies, call, error);
  if (signal.aborted) throw aborted();
  if (error instanceof NotDeployedHere) return;
  const tried = { ...call, durable: DEFAULT_OPTIONS };
  if (!(error instanceof ToolsetFailed && error.retryable))
    return await retryUnlessSpent(dependencies, tried, error, endingError(call.begun, error));
  await hasNotRun(dependencies, tried, error);
  if (isLastRefusal()) return;
  const isHidden = hidesTexts(dependencies, tried.durable);
  const shown = isHidden ? new Error(`no toolset has ${call.tool} now`) : error;
  loggerOf(dependencies, tried).warn(shown.message);
  throw retryLater(TOOL_FAILED, describeFailure(endingError(call.begun, shown)).message);
}

/** Records that an attempt has started nothing: the next one finds no unknown outcome. */
export async function hasNotRun(
  { store }: Pick<ActivityDependencies, 'store'>,
  { input, begun }: Pick<TriedCall, 'input' | 'begun'>,
  thrown: unknown,
): Promise<void> {
  const { session, callKey } = input;
  const { message: error } = describeFailure(thrown);
  await store.turns.recordCallFailure({ session, callKey, error, counts: false, attempt: begun.attempt });
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
  return conceal || isAnySensitive(sensitive);
}

function delayOf({ retry }: Pick<ResolvedDurableOptions, 'retry'>, failures: number): number {
  return Math.min(retry.initialInterval * retry.backoffCoefficient ** failures, retry.maximumInterval);
}
