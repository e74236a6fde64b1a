import { randomUUID } from 'node:crypto';
import { CallbackFailed } from '../../src/agents/callbacks.ts';
import { isResultSensitive } from '../../src/approvals/sensitive.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { Part } from '../../src/events/content.ts';
import { carry } from '../../src/flows/size-rule.ts';
import type { AwaitedJob } from '../../src/protocol/job.ts';
import { defined } from '../../src/protocol/json.ts';
import type { ToolCallInput, ToolCallResult } from '../../src/protocol/step.ts';
import type { Store } from '../../src/store/store.ts';
import { ArtifactCollected, Unstorable } from '../../src/store/store-errors.ts';
import type { CallActions, SettleCall, SettledCall } from '../../src/store/turns/call-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { REJECTED } from '../../src/tools/tool-gate.ts';
import type { Attempt } from '../attempt.ts';
import { inTime } from '../deadline.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { planOf } from './begin-call.ts';
import { effectsOf } from './call-context.ts';
import type { CalledTool, ToolCallbacks } from './tool-callbacks.ts';
import { describeFailure, endingError, storeErrorIn } from './tool-failure.ts';

/**
 * Settles a call with its outcome, or with an error where the outcome can't be stored.
 *
 * @param call `by`: its tool, where the app marks what tools bring.
 * @param done actions that count with any outcome.
 */
export async function settleCall(
  store: Pick<Store, 'turns'>,
  call: { session: string; callKey: string; tool: string; by: Pick<BaseTool, 'trusted'> | undefined },
  { answersError: _answersError, omitted: _omitted, detached, trusted, ...outcome }: CallOutcome,
  done: CallActions,
): Promise<SettledCall> {
  const isBare = outcome.failed && Object.keys(outcome.actions).length === 0;
  const { session, callKey, tool, by } = call;
  const actions = { ...(isBare ? done : outcome.actions), ...markOf(by, trusted) };
  const intermediate = detached === undefined ? {} : { willContinue: true as const };
  const token = randomUUID();
  try {
    return await store.turns.settleCall({ session, callKey, ...outcome, ...intermediate, actions, token });
  } catch (error) {
    if (!(error instanceof Unstorable || error instanceof ArtifactCollected)) throw error;
    const text = `Error in tool '${tool}': its result can't be stored; it has run`;
    const failure = { ...errorOutcome(new Error(text)), actions: done };
    return await store.turns.settleCall({ session, callKey, ...failure, ...intermediate, token });
  }
}

/** The mark of what a tool brings, where the app marks that. */
export function markOf(
  by: Pick<BaseTool, 'trusted'> | undefined,
  trusted = by?.trusted,
): Pick<CallActions, 'trusted'> {
  return by !== undefined && trusted ? { trusted: true } : {};
}

/**
 * A settled call as the history shows it. The input may name a tool that keeps less to itself than the call's own: an outcome that another
 * attempt has recorded is shown only where the store has planned the call for this tool.
 *
 * @param answersError the response is what callbacks made of an error.
 */
export async function callResult(
  dependencies: Pick<ActivityDependencies, 'store' | 'deployment'>,
  input: ToolCallInput,
  tool: BaseTool | undefined,
  { response, failed, actions, first = false }: Omit<SettledCall, 'first'> & Partial<SettledCall>,
  answersError = true,
): Promise<Extract<ToolCallResult, { response: unknown }>> {
  const { callKey } = input;
  const isKnown =
    tool !== undefined && (first || (await planOf(dependencies, input, tool.name)) !== undefined);
  // Where the tool isn't known, neither is what it keeps to itself: only what was said here can be told.
  const { sensitive } = isKnown ? tool.durable : { sensitive: !first };
  // An error's text may quote any argument, and so may an answer to it. An outcome that another attempt has recorded may be one.
  const mayQuote = failed || answersError || !first;
  const hidden = isResultSensitive(sensitive, mayQuote);
  return {
    v: PROTOCOL_VERSION,
    response: carry(callKey, response, hidden),
    ...(failed ? { failed: true } : {}),
    ...(actions.skipSummarization ? { skipSummarization: true } : {}),
    ...(actions.transferToAgent ? { transferToAgent: actions.transferToAgent } : {}),
    ...(actions.escalate ? { escalate: true } : {}),
  };
}

export interface CallOutcome extends Pick<SettleCall, 'response' | 'failed' | 'actions' | 'parts' | 'stack'> {
  /** The response is what callbacks made of an error, and may quote it. Left out where `failed` says so. */
  answersError?: true;
  /** Data that no model reads, of a tool whose large results are spooled. */
  omitted?: Part[];
  /** Whether the response is trusted, where that isn't as its tool says. */
  trusted?: boolean;
  /** The response is an intermediate one: this job goes on without the turn. */
  detached?: AwaitedJob;
}

/** Milliseconds that callbacks have at least, once their tool has used up its own time; less than the margin of its schedule. */
export const LEAST_CALLBACK_TIME = 4_000;

interface FailedCall {
  call: CalledTool;
  thrown: unknown;
  /** The response where no callback has another one. Defaults to the error's text. */
  unanswered?: Record<string, unknown>;
  /** Milliseconds that the callbacks may take. */
  time: number;
  current?: Pick<Attempt, 'signal' | 'aborted'>;
}

/**
 * The outcome of a call that has failed for good. The actions of its callbacks count beside their answer. If a callback fails
 * itself, its failure is the outcome.
 */
export async function outcomeOfFailure(
  callbacks: ToolCallbacks,
  { call, thrown, unanswered: response, time, current }: FailedCall,
): Promise<CallOutcome> {
  const unanswered = { ...errorOutcome(thrown), ...defined({ response }) };
  if (!callbacks.handleFailures) return unanswered;
  const late = () => callbackTooLate(call, 'onToolErrorCallback or afterToolCallback', time);
  try {
    const answer = () => callbacks.failed(call, thrown, unanswered.response);
    const response = await inTime(answer, { time, late, current });
    const failed = Object.hasOwn(response, 'error');
    return { ...unanswered, response, failed, actions: effectsOf(call.context), answersError: true };
  } catch (error) {
    if (current?.signal.aborted) throw error;
    return errorOutcome(error);
  }
}

/** @throws StoreError where that is what was thrown: it is nobody's failure here. */
export function errorOutcome(thrown: unknown, call?: Parameters<typeof endingError>[0]): CallOutcome {
  const storeError = storeErrorIn(thrown);
  if (storeError !== undefined) throw storeError;
  const { message, stack } = describeFailure(endingError(call, thrown));
  return {
    response: { error: message },
    failed: true,
    actions: {},
    ...defined({ stack }),
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

/** The response of a call that people did not approve. */
export function rejection(reason: string | undefined): Pick<CallOutcome, 'response' | 'failed'> {
  return { response: { error: REJECTED, ...defined({ reason }) }, failed: true };
}
