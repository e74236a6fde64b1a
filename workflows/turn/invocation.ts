import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import { UNUSABLE } from '../../src/protocol/activity-results.ts';
import type { AgentPlan } from '../../src/protocol/agent-run.ts';
import type { SupersededStep } from '../../src/protocol/step.ts';
import type { InvocationOutcome, TurnResult } from '../../src/protocol/turn.ts';
import { unusableText } from '../activities.ts';
import { runCalls } from '../calls/run-calls.ts';
import { runPlan } from '../children/run-agents.ts';
import type { EarlyEnd, Steering } from './steering.ts';
import { askModel, budgetError, endEarly, endTurn, isOwn, resultOf, scheduleSettleStep } from './steps.ts';
import type { Turn } from './turn.ts';
import { type InvocationState, runKeyOf } from './turn-state.ts';

const CANCELLED: EarlyEnd = {
  status: 'interrupted',
  error: { code: 'CANCELLED', message: 'the turn was cancelled' },
};

const OUT_OF_TIME: EarlyEnd = {
  status: 'failed',
  error: { code: 'HOLDFAST_BUDGET_EXCEEDED', message: 'the wall time of the turn is used up' },
  cutOff: 'cancelled: the time of its turn is used up',
};

/** An invocation that was cancelled with its workflow, and what the store has recorded of it. */
export class CancelledInvocation {
  readonly error: unknown;
  readonly recorded: TurnResult | undefined;

  constructor(error: unknown, recorded: TurnResult | undefined) {
    this.error = error;
    this.recorded = recorded;
  }
}

/** Runs an invocation from where it stands to its end, which the store has then recorded, unless it has to wait. */
export async function runInvocation(
  turn: Turn,
  state: InvocationState,
): Promise<TurnResult | CancelledInvocation | SupersededStep> {
  const { start, steering, requests, jobs } = turn;
  const deadline = new CancellationScope({ cancellable: true });
  try {
    const outcome = await steering.run(() => runSteps(turn, state, deadline));
    return 'kind' in outcome ? outcome : resultOf(state, outcome);
  } catch (error) {
    const cancelled = CancellationScope.current().consideredCancelled;
    const end = cancelled ? undefined : (steering.earlyEnd ?? unusableEnd(error));
    if ((!cancelled && end === undefined) || !isEndOfWork(error)) throw error;
    turn.callsCutOff();
    const recorded = await endEarly(start, state, end ?? CANCELLED);
    if (end === undefined) {
      const cancellation = isCancellation(error) ? error : new CancelledFailure('CANCELLED');
      return new CancelledInvocation(cancellation, recorded && resultOf(state, recorded));
    }
    return resultOf(state, recorded ?? { ...end, usage: state.usage });
  } finally {
    deadline.cancel();
    steering.forget();
    requests.planned([]);
    jobs.over();
  }
}

/** A cancelled activity whose worker is dead isn't tried again: its lost heartbeat is all that is heard of it. */
function isEndOfWork(error: unknown): boolean {
  if (isCancellation(error) || unusableText(error) !== undefined) return true;
  return error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
}

/** The outcome of its step isn't known: the turn ends where the store stands. */
function unusableEnd(error: unknown): EarlyEnd | undefined {
  const message = unusableText(error);
  return message === undefined ? undefined : { status: 'failed', error: { ...UNUSABLE, message } };
}

async function runSteps(
  turn: Turn,
  state: InvocationState,
  deadline: CancellationScope,
): Promise<InvocationOutcome | SupersededStep> {
  const { start, requests, jobs } = turn;
  let watched = false;
  const watchDeadline = () => {
    if (watched || state.deadline === undefined) return;
    watched = true;
    void endAt(state.deadline, deadline, turn.steering);
  };
  watchDeadline();
  for (;;) {
    // In a run that has taken over from another one in the middle of it.
    if (state.planned !== undefined) await runAgents(turn, state, state.planned.plan);
    const runKey = runKeyOf(state);
    requests.asking(runKey, state.step + 1);
    jobs.asking(runKey, state.step + 1);
    turn.inline.asks(runKey, state.step + 1);
    const outcome = await askModel(start, state);
    turn.inline.answered();
    if (outcome.kind === 'behind') return outcome;
    turn.begun(state, outcome);
    if (outcome.kind === 'agents') {
      watchDeadline();
      await runAgents(turn, state, outcome.plan);
      continue;
    }
    if (outcome.kind !== 'calls') return outcome.outcome;
    watchDeadline();

    const ran = await runCalls(turn, state, outcome);
    if (ran.escalated) state.escalated = true;
    const { transferToAgent } = ran;
    const isOwnCall = isOwn(start, state);
    const isOver = isOwnCall || (ran.skipSummarization && transferToAgent === undefined);
    const overBudget = isOver ? undefined : budgetError(start, state);
    if (isOver || overBudget) {
      return await endTurn(start, state, ran.unsettled, {
        status: overBudget ? 'failed' : 'completed',
        ...(overBudget ? { error: overBudget } : {}),
        ...(isOwnCall && ran.response !== undefined ? { output: ran.response } : {}),
        usage: state.usage,
      });
    }
    if (ran.unsettled.length > 0) await scheduleSettleStep(start, state, ran.unsettled);
    if (transferToAgent !== undefined) transfer(state, transferToAgent);
    await turn.continueWhereSuggested();
  }
}

/** The outcomes of a plan's agents, also of silent ones, are in the store before the planning agent is asked again. */
async function runAgents(turn: Turn, state: InvocationState, plan: AgentPlan): Promise<void> {
  const { lost } = await runPlan(turn, state, plan);
  if (lost.length > 0) await scheduleSettleStep(turn.start, state, [], lost);
  await turn.continueWhereSuggested();
}

/** From now on this agent acts; those before it come to their end after it. */
function transfer(state: InvocationState, to: string): void {
  if (state.agent !== undefined) state.handedOnBy = [...(state.handedOnBy ?? []), state.agent];
  state.agent = to;
  state.model = undefined;
  state.enters = true;
}

async function endAt(time: number, scope: CancellationScope, steering: Steering): Promise<void> {
  try {
    await scope.run(() => sleep(Math.max(time - Date.now(), 1), { summary: 'wall time of the turn' }));
  } catch (error) {
    if (isCancellation(error)) return;
    throw error;
  }
  steering.end(OUT_OF_TIME);
}
