import { ApplicationFailure, CancellationScope, scheduleActivity, workflowInfo } from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import type { ChildStart, RanAgent } from '../../src/protocol/agent-run.ts';
import { CALL_MODEL, SETTLE_STEP } from '../../src/protocol/names.ts';
import type {
  CallModelInput,
  SettleStepInput,
  SettleStepResult,
  StepEnding,
  StepOutcome,
  StepPosition,
  SupersededStep,
  UnsettledCall,
} from '../../src/protocol/step.ts';
import type { AgentTurnStart, InvocationOutcome, TurnError, TurnResult } from '../../src/protocol/turn.ts';
import { modelStepOptions, settleStepOptions, turnPriority, usable } from '../activities.ts';
import type { EarlyEnd } from './steering.ts';
import { type InvocationState, runConfigOf, runKeyOf } from './turn-state.ts';

/** Runs the next model step and moves the state to where it ended, unless it has not begun. */
export async function askModel(
  start: AgentTurnStart,
  state: InvocationState,
): Promise<StepOutcome | SupersededStep> {
  const first = state.step === 0;
  const { child } = start;
  const runConfig = runConfigOf(start, state);
  state.asked = state.step + 1;
  const input: CallModelInput = {
    ...positionOf(state, state.asked),
    ...actingOf(state),
    workflowId: workflowInfo().workflowId,
    agent: state.agent,
    ...(first && child === undefined ? beginningOf(start, state) : {}),
    ...(first && child !== undefined ? beginningOfChild(start, child) : {}),
    ...(first && child === undefined ? attestationOf(start, state) : {}),
    // Later messages were taken in order.
    ...(first && child === undefined && state.number === 1 && start.retryOf === undefined
      ? { mayGiveWay: true }
      : {}),
    ran: state.ran,
    ...(runConfig ? { runConfig } : {}),
    ...(isOwn(start, state) && start.ownCall !== undefined ? { ownCall: start.ownCall } : {}),
  };
  const options = modelStepOptions(stepSummary(state), turnPriority(start, state.priority));
  const answer = await scheduleActivity<StepOutcome | SupersededStep>(CALL_MODEL, [input], options);
  const outcome = usable(CALL_MODEL, child === undefined ? RESULTS.step : RESULTS.stepOfChild, answer);
  if (outcome.kind === 'behind') return outcome;
  delete state.enters;
  delete state.ran;
  state.before = beforeText(outcome, state.asked);
  if (outcome.root !== undefined) state.acting = { ...state.acting, root: outcome.root };
  if (outcome.escalated) state.escalated = true;
  state.asked = Math.max(state.asked, outcome.step ?? 0);
  state.step = state.asked;
  state.session = outcome.session;
  state.agent = outcome.agent;
  state.seq = outcome.seq;
  if (outcome.model !== undefined) state.model = outcome.model;
  if (outcome.timeLeft !== undefined) state.deadline = Date.now() + outcome.timeLeft;
  if (outcome.kind === 'calls' || outcome.kind === 'agents') {
    state.usage = outcome.usage;
  } else {
    state.usage = outcome.outcome.usage;
    state.from = outcome.from;
  }
  return outcome;
}

/** A child begins with what its call asks it, in a session of its own, or goes on with its parent's. */
function beginningOfChild(
  { app, userId }: AgentTurnStart,
  { call, runKey, plannedBy }: ChildStart,
): Pick<CallModelInput, 'identity' | 'call' | 'plannedBy'> {
  if (call === undefined) return { plannedBy };
  return { identity: { app, userId, sessionId: runKey, messageId: runKey }, call };
}

/** The agent that acts, and its place in the tree of the turn. */
export function actingOf({ acting, handedOnBy, enters }: InvocationState) {
  return {
    ...acting,
    handedOnBy,
    enters,
  };
}

type Beginning = Required<Pick<CallModelInput, 'identity'>> &
  Pick<CallModelInput, 'message' | 'messageDigest' | 'stateDelta' | 'cameAt' | 'rootAgent'>;

/** The identity of an invocation, and its message unless the store has it, as for a queued one and a retry. */
function beginningOf(
  start: AgentTurnStart,
  { number, messageId, cameAt, rootAgent }: InvocationState,
): Beginning {
  const { app, userId, sessionId, message, stateDelta, stored } = start;
  const own = number === 1;
  return {
    identity: { app, userId, sessionId, messageId },
    cameAt,
    ...(own && message !== undefined ? { message } : {}),
    ...(own && stored !== undefined ? { messageDigest: stored.digest } : {}),
    ...(own && stateDelta ? { stateDelta } : {}),
    rootAgent,
  };
}

/** That of a queued message is looked at when the store keeps it. */
function attestationOf({ attestation }: AgentTurnStart, { number }: InvocationState) {
  return number === 1 && attestation !== undefined ? { attestation } : {};
}

/** Whether the turn is the call of its start arguments: those of messages that came meanwhile are not. */
export function isOwn({ ownCall }: AgentTurnStart, { number }: InvocationState): boolean {
  return ownCall !== undefined && number === 1;
}

/** Settles what no activity settled. */
export async function scheduleSettleStep(
  start: AgentTurnStart,
  state: InvocationState,
  unsettled: UnsettledCall[],
  lost: readonly RanAgent[] = [],
): Promise<void> {
  await settle(start, state, unsettled, lost.length === 0 ? {} : { lost });
}

/**
 * Appends the step's responses and ends the invocation in the store, also while the workflow is being cancelled: what is
 * recorded is what counts.
 */
export async function endTurn(
  start: AgentTurnStart,
  state: InvocationState,
  unsettled: UnsettledCall[],
  ending: StepEnding,
): Promise<InvocationOutcome> {
  const outcome = await CancellationScope.nonCancellable(() => settle(start, state, unsettled, { ending }));
  if (outcome === undefined) throw new Error('an ended invocation has an outcome');
  return outcome;
}

interface Settling {
  ending?: StepEnding;
  beginning?: Beginning;
  lost?: readonly RanAgent[];
}

async function settle(
  start: AgentTurnStart,
  state: InvocationState,
  unsettled: UnsettledCall[],
  { ending, beginning, lost }: Settling = {},
): Promise<InvocationOutcome | undefined> {
  const { enters: _enters, ...acting } = actingOf(state);
  const input: SettleStepInput = {
    ...positionOf(state, ending ? Math.max(state.asked, 1) : state.step),
    ...acting,
    ...beginning,
    lost,
    agent: state.agent ?? '',
    unsettled,
    ...(ending ? { ending } : {}),
    ...(ending ? { ended: endedOf(start, state) } : {}),
  };
  const summary = `${state.agent ?? 'agent'} · ${ending ? `${ending.status} at step` : 'step'} ${state.asked}`;
  const options = settleStepOptions(summary, turnPriority(start, state.priority));
  const answer = await scheduleActivity<SettleStepResult>(SETTLE_STEP, [input], options);
  const settled = usable(SETTLE_STEP, ending ? RESULTS.endedTurn : RESULTS.settledStep, answer);
  state.seq = settled.seq;
  state.from = settled.from;
  return settled.outcome;
}

function endedOf({ app, userId, sessionId }: AgentTurnStart, { beganAt }: InvocationState) {
  return { app, userId, sessionId, beganAt };
}

/** Leaves a session that its next turn continues. Without an outcome the store has never heard of the invocation. */
export async function endEarly(
  start: AgentTurnStart,
  state: InvocationState,
  how: EarlyEnd,
): Promise<InvocationOutcome | undefined> {
  const ending = { ...how, usage: state.usage };
  if (state.session !== undefined) return await endTurn(start, state, [], ending);
  // The agent of a call has no session before its first step: its caller's store knows nothing of it.
  if (start.child !== undefined) return undefined;
  return await CancellationScope.nonCancellable(() =>
    settle(start, state, [], { ending, beginning: beginningOf(start, state) }),
  );
}

/**
 * The limit of ADK's `RunConfig.maxLlmCalls`, where the calls so far have used up what the message allows. The default, the
 * app's own limit and its budgets are looked at by the next model step.
 */
export function budgetError(start: AgentTurnStart, state: InvocationState): TurnError | undefined {
  const limit = runConfigOf(start, state)?.maxLlmCalls;
  if (limit === undefined || limit <= 0 || state.step < limit) return undefined;
  return {
    code: 'LLM_CALLS_LIMIT_EXCEEDED',
    message: `Max number of llm calls limit of ${limit} exceeded`,
  };
}

export function resultOf(state: InvocationState, outcome: InvocationOutcome): TurnResult {
  return {
    v: PROTOCOL_VERSION,
    invocationId: state.invocationId,
    ...outcome,
    ...(state.runKey !== undefined && state.escalated ? { escalated: true } : {}),
    events: { from: state.from, to: state.seq },
  };
}

export function turnFailure(result: TurnResult): ApplicationFailure {
  const { code, message, concealed } = result.error ?? { code: 'UNKNOWN', message: 'the turn failed' };
  // A failure's message is not encoded where its details are.
  const text = concealed ? `${code}: see the details of this failure` : `${code}: ${message}`;
  const failure = ApplicationFailure.nonRetryable(text, 'TurnFailed', result);
  // It would say where the worker is installed, and nothing about the turn.
  failure.stack = '';
  return failure;
}

function positionOf(state: InvocationState, step: number): StepPosition {
  return {
    v: PROTOCOL_VERSION,
    session: state.session,
    invocationId: state.invocationId,
    runKey: runKeyOf(state),
    step,
    seq: state.seq,
    fence: { startedAt: state.chainStartedAt, invocation: state.number },
    traceparent: state.traceparent,
  };
}

function stepSummary(state: InvocationState): string {
  return [
    state.agent ?? 'agent',
    ...(state.model === undefined ? [] : [state.model]),
    `step ${state.step + 1}`,
    ...(state.before === undefined ? [] : [state.before]),
  ].join(' · ');
}

/** The part of the turn that the activity of a step has run beside that step: no other activity of the history shows it. */
function beforeText(outcome: StepOutcome, asked: number): string | undefined {
  if (outcome.kind !== 'calls') return undefined;
  const { calls, ran = {}, step = asked } = outcome;
  const inline = calls.flatMap(({ callKey, tool }) => {
    const result = Object.hasOwn(ran, callKey) ? ran[callKey] : undefined;
    return result === undefined ? [] : `${tool}${'response' in result && !result.failed ? '' : ' ✗'}`;
  });
  const steps = step > asked ? [`steps ${asked}–${step}`] : [];
  const parts = [...steps, ...inline];
  return parts.length === 0 ? undefined : `after ${parts.join(', ')}`;
}
