import {
  continueAsNew,
  defineQuery,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { STATUS_QUERY } from '../src/protocol/names.ts';
import type { AgentTurnStart, RunningCall, TurnResult, TurnStatus } from '../src/protocol/turn.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { currentStep, describeTurn } from './describe-turn.ts';
import { runCalls } from './run-calls.ts';
import { labelRun } from './search-attributes.ts';
import { checkedStart } from './start-arguments.ts';
import { askModel, budgetError, endTurn, interruptTurn, resultOf, settleStep, turnFailure } from './steps.ts';
import { initialState, type TurnState } from './turn-state.ts';

/**
 * One turn: from a message to its final answer. The history holds its control, the store its content.
 *
 * @param carried what the run before handed on by continue-as-new.
 */
export async function agentTurn(given: AgentTurnStart, carried?: TurnState): Promise<TurnResult> {
  const info = workflowInfo();
  const start = checkedStart(given, info);
  const state = carried ?? initialState(start, info);
  const running: RunningCall[] = [];
  let status: TurnStatus['status'] = 'running';
  setHandler(
    defineQuery<TurnStatus>(STATUS_QUERY),
    (): TurnStatus => ({
      v: PROTOCOL_VERSION,
      status,
      agent: state.agent,
      step: currentStep(state, running),
      invocationId: state.invocationId,
      running: [...running],
      usage: state.usage,
    }),
  );
  const ended = (result: TurnResult): TurnResult => {
    status = result.status;
    if (result.status === 'failed') throw turnFailure(result);
    return result;
  };
  const describe = () => setCurrentDetails(describeTurn(state, running));

  try {
    for (;;) {
      describe();
      const outcome = await askModel(start, state);
      labelRun(start, state, outcome);
      if (outcome.kind !== 'calls') return ended(resultOf(state, outcome.outcome));

      const { session, agent } = outcome;
      const ran = await runCalls({ session, agent, runKey: state.invocationId }, outcome, {
        started: ({ callKey, tool }) => {
          running.push({ callKey, tool, since: Date.now() });
          describe();
        },
        ended: ({ callKey }) => {
          running.splice(
            running.findIndex((call) => call.callKey === callKey),
            1,
          );
          describe();
        },
      });

      const overBudget = ran.skipSummarization ? undefined : budgetError(start, state);
      if (ran.skipSummarization || overBudget) {
        const settled = await endTurn(state, ran.unsettled, {
          status: overBudget ? 'failed' : 'completed',
          ...(overBudget ? { error: overBudget } : {}),
          usage: state.usage,
        });
        return ended(resultOf(state, settled));
      }
      if (ran.unsettled.length > 0) await settleStep(state, ran.unsettled);

      if (workflowInfo().continueAsNewSuggested)
        await continueAsNew<typeof agentTurn>(withoutMessage(start), state);
    }
  } catch (error) {
    if (isCancellation(error)) {
      running.length = 0;
      const recorded = await interruptTurn(state);
      if (recorded !== undefined && recorded.status !== 'interrupted')
        return ended(resultOf(state, recorded));
      status = 'interrupted';
    }
    throw error;
  }
}

/** The message went into the store with the first step; only its size would cross to the next run. */
function withoutMessage(start: AgentTurnStart): AgentTurnStart {
  return { ...start, message: '(in the transcript)', stateDelta: undefined };
}
