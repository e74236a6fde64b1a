import { ApplicationFailure, CancellationScope, scheduleActivity } from '@temporalio/workflow';
import { CALL_MODEL, SETTLE_STEP } from '../src/protocol/names.ts';
import type {
  CallModelInput,
  SettleStepInput,
  SettleStepResult,
  StepEnding,
  StepOutcome,
  StepPosition,
  UnsettledCall,
} from '../src/protocol/step.ts';
import type { AgentTurnStart, InvocationOutcome, TurnError, TurnResult } from '../src/protocol/turn.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { modelStepOptions, settleStepOptions } from './activity-options.ts';
import type { TurnState } from './turn-state.ts';

const DEFAULT_MAX_LLM_CALLS = 500;

/** Runs the next model step and moves the state to where it ended. */
export async function askModel(start: AgentTurnStart, state: TurnState): Promise<StepOutcome> {
  const { app, userId, sessionId, message, stateDelta } = start;
  const first = state.step === 0;
  const input: CallModelInput = {
    ...positionOf(state, state.step + 1),
    ...(state.agent === undefined ? {} : { agent: state.agent }),
    ...(first ? { identity: { app, userId, sessionId, messageId: state.messageId }, message } : {}),
    ...(first && stateDelta ? { stateDelta } : {}),
    ...(start.runConfig ? { runConfig: start.runConfig } : {}),
  };
  const outcome = await scheduleActivity<StepOutcome>(
    CALL_MODEL,
    [input],
    modelStepOptions(stepSummary(state)),
  );
  state.step += 1;
  state.session = outcome.session;
  state.agent = outcome.agent;
  state.seq = outcome.seq;
  if (outcome.model !== undefined) state.model = outcome.model;
  if (outcome.kind === 'calls') {
    state.usage = outcome.usage;
  } else {
    state.usage = outcome.outcome.usage;
    state.from = outcome.from;
  }
  return outcome;
}

/** Settles what no activity settled. */
export async function settleStep(state: TurnState, unsettled: UnsettledCall[]): Promise<void> {
  await settle(state, unsettled);
}

/**
 * Appends the step's responses and ends the invocation in the store, also while the workflow is being cancelled: what is
 * recorded is what counts.
 */
export async function endTurn(
  state: TurnState,
  unsettled: UnsettledCall[],
  ending: StepEnding,
): Promise<InvocationOutcome> {
  const outcome = await CancellationScope.nonCancellable(() => settle(state, unsettled, ending));
  if (outcome === undefined) throw new Error('an ended invocation has an outcome');
  return outcome;
}

async function settle(
  state: TurnState,
  unsettled: UnsettledCall[],
  ending?: StepEnding,
): Promise<InvocationOutcome | undefined> {
  const input: SettleStepInput = {
    ...positionOf(state, state.step),
    session: sessionOf(state),
    agent: state.agent ?? '',
    unsettled,
    ...(ending ? { ending } : {}),
  };
  const settled = await scheduleActivity<SettleStepResult>(
    SETTLE_STEP,
    [input],
    settleStepOptions(
      `${state.agent ?? 'agent'} · ${ending ? `${ending.status} at step` : 'step'} ${state.step}`,
    ),
  );
  state.seq = settled.seq;
  state.from = settled.from;
  return settled.outcome;
}

/**
 * Leaves a session that its next turn continues. A turn that was cancelled before its first step answered is healed
 * by the first step of the next.
 */
export async function interruptTurn(state: TurnState): Promise<InvocationOutcome | undefined> {
  if (state.session === undefined) return undefined;
  return await endTurn(state, [], {
    status: 'interrupted',
    error: { code: 'CANCELLED', message: 'the turn was cancelled' },
    usage: state.usage,
  });
}

/** The limit of ADK's `RunConfig.maxLlmCalls`, where the calls so far have used it up. */
export function budgetError(start: AgentTurnStart, state: TurnState): TurnError | undefined {
  const limit = start.runConfig?.maxLlmCalls ?? DEFAULT_MAX_LLM_CALLS;
  if (limit <= 0 || state.step < limit) return undefined;
  return {
    code: 'LLM_CALLS_LIMIT_EXCEEDED',
    message: `Max number of llm calls limit of \`${limit}\` exceeded`,
  };
}

export function resultOf(state: TurnState, outcome: InvocationOutcome): TurnResult {
  return {
    v: PROTOCOL_VERSION,
    invocationId: state.invocationId,
    ...outcome,
    events: { from: state.from, to: state.seq },
  };
}

export function turnFailure(result: TurnResult): ApplicationFailure {
  const { code, message } = result.error ?? { code: 'UNKNOWN', message: 'the turn failed' };
  const failure = ApplicationFailure.nonRetryable(`${code}: ${message}`, 'TurnFailed', result);
  // It would say where the worker is installed, and nothing about the turn.
  failure.stack = '';
  return failure;
}

function positionOf(state: TurnState, step: number): StepPosition {
  return {
    v: PROTOCOL_VERSION,
    ...(state.session === undefined ? {} : { session: state.session }),
    invocationId: state.invocationId,
    runKey: state.invocationId,
    step,
    seq: state.seq,
    fence: { startedAt: state.chainStartedAt, invocation: 1 },
  };
}

function sessionOf(state: TurnState): string {
  if (state.session === undefined) throw new Error('a step is settled only after the first one has answered');
  return state.session;
}

function stepSummary(state: TurnState): string {
  return [
    state.agent ?? 'agent',
    ...(state.model === undefined ? [] : [state.model]),
    `step ${state.step + 1}`,
  ].join(' · ');
}
