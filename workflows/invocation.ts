import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { FirstStep, StepBehind } from '../src/protocol/step.ts';
import type { AgentTurnStart, InvocationOutcome, RunningCall, TurnResult } from '../src/protocol/turn.ts';
import type { Jobs } from './jobs.ts';
import type { Requests } from './requests.ts';
import type { CallObserver } from './run-call.ts';
import { runCalls } from './run-calls.ts';
import type { TurnOfCalls } from './start-tool-job.ts';
import type { EarlyEnd, Steering } from './steering.ts';
import { askModel, budgetError, endEarly, endTurn, resultOf, settleStep } from './steps.ts';
import type { InvocationState } from './turn-state.ts';

const CANCELLED: EarlyEnd = {
  status: 'interrupted',
  error: { code: 'CANCELLED', message: 'the turn was cancelled' },
};

const OUT_OF_TIME: EarlyEnd = {
  status: 'failed',
  error: { code: 'HOLDFAST_BUDGET_EXCEEDED', message: 'the wall time of the turn is used up' },
  cutOff: 'cancelled: the time of its turn is used up',
};

/** What watches an invocation, and holds it between two steps. */
export interface InvocationWatch {
  running: RunningCall[];
  steering: Steering;
  requests: Requests;
  jobs: Jobs;
  /** Something that {@link describeTurn} shows has changed. */
  changed(): void;
  firstStep(told: FirstStep): void;
  betweenSteps(): Promise<void>;
}

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
  start: AgentTurnStart,
  state: InvocationState,
  watch: InvocationWatch,
): Promise<TurnResult | CancelledInvocation | StepBehind> {
  const { steering, running, requests, jobs } = watch;
  const deadline = new CancellationScope({ cancellable: true });
  try {
    const outcome = await steering.run(() => runSteps(start, state, watch, deadline));
    return 'kind' in outcome ? outcome : resultOf(state, outcome);
  } catch (error) {
    const cancelled = CancellationScope.current().consideredCancelled;
    const end = cancelled ? undefined : steering.earlyEnd;
    if ((!cancelled && end === undefined) || !isEndOfWork(error)) throw error;
    running.length = 0;
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
  return isCancellation(error) || (error instanceof ActivityFailure && error.cause instanceof TimeoutFailure);
}

async function runSteps(
  start: AgentTurnStart,
  state: InvocationState,
  watch: InvocationWatch,
  deadline: CancellationScope,
): Promise<InvocationOutcome | StepBehind> {
  const { steering, requests, jobs } = watch;
  let watched = false;
  const watchDeadline = () => {
    if (watched || state.deadline === undefined) return;
    watched = true;
    void endAt(state.deadline, deadline, steering);
  };
  watchDeadline();
  for (;;) {
    watch.changed();
    requests.asking(state.invocationId, state.step + 1);
    jobs.asking(state.invocationId, state.step + 1);
    const outcome = await askModel(start, state);
    if (outcome.kind === 'behind') return outcome;
    watch.firstStep(outcome);
    if (outcome.kind !== 'calls') return outcome.outcome;
    watchDeadline();

    const { session, agent } = outcome;
    const ran = await runCalls(
      {
        session,
        agent,
        runKey: state.invocationId,
        invocationId: state.invocationId,
        ...(state.traceparent === undefined ? {} : { traceparent: state.traceparent }),
      },
      turnOf(start, state),
      outcome,
      { observer: observerOf(watch), steering, requests, jobs },
    );

    const overBudget = ran.skipSummarization ? undefined : budgetError(start, state);
    if (ran.skipSummarization || overBudget) {
      return await endTurn(start, state, ran.unsettled, {
        status: overBudget ? 'failed' : 'completed',
        ...(overBudget ? { error: overBudget } : {}),
        usage: state.usage,
      });
    }
    if (ran.unsettled.length > 0) await settleStep(start, state, ran.unsettled);
    await watch.betweenSteps();
  }
}

function observerOf({ running, changed }: InvocationWatch): CallObserver {
  return {
    started: ({ callKey, tool }) => {
      running.push({ callKey, tool, since: Date.now() });
      changed();
    },
    ended: ({ callKey }) => {
      running.splice(
        running.findIndex((call) => call.callKey === callKey),
        1,
      );
      changed();
    },
  };
}

function turnOf({ app, userId, sessionId }: AgentTurnStart, { priority }: InvocationState): TurnOfCalls {
  return { app, userId, sessionId, ...(priority === undefined ? {} : { priority }) };
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
