import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  sleep,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { UNUSABLE } from '../../src/protocol/activity-results.ts';
import type { AgentPlan } from '../../src/protocol/agent-run.ts';
import type { FirstStep, StepBehind } from '../../src/protocol/step.ts';
import type { AgentTurnStart, InvocationOutcome, RunningCall, TurnResult } from '../../src/protocol/turn.ts';
import type { Requests } from '../approvals/requests.ts';
import type { CallObserver } from '../calls/run-call.ts';
import { runCalls } from '../calls/run-calls.ts';
import type { Children } from '../children/children.ts';
import { pathOf, runPlan } from '../children/run-agents.ts';
import type { ParentTurn } from '../children/run-child.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { TurnOfCalls } from '../jobs/start-tool-job.ts';
import { unusableText } from '../usable-result.ts';
import type { EarlyEnd, Steering } from './steering.ts';
import { askModel, budgetError, endEarly, endTurn, isOwn, resultOf, settleStep } from './steps.ts';
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
  children: Children;
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
    const end = cancelled ? undefined : (steering.earlyEnd ?? unusableEnd(error));
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
  if (isCancellation(error) || unusableText(error) !== undefined) return true;
  return error instanceof ActivityFailure && error.cause instanceof TimeoutFailure;
}

/** Nobody knows what its step came to: the turn ends where the store stands. */
function unusableEnd(error: unknown): EarlyEnd | undefined {
  const message = unusableText(error);
  return message === undefined ? undefined : { status: 'failed', error: { ...UNUSABLE, message } };
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
  const rootWorkflowId = start.child?.rootWorkflowId ?? workflowInfo().workflowId;
  for (;;) {
    // In a run that has taken over from another one in the middle of it.
    if (state.planned !== undefined) await runAgentsOf(start, state, watch, state.planned.plan);
    watch.changed();
    const runKey = state.runKey ?? state.invocationId;
    requests.asking(runKey, state.step + 1);
    jobs.asking(runKey, state.step + 1);
    const outcome = await askModel(start, state);
    if (outcome.kind === 'behind') return outcome;
    watch.firstStep(outcome);
    if (outcome.kind === 'agents') {
      watchDeadline();
      await runAgentsOf(start, state, watch, outcome.plan);
      continue;
    }
    if (outcome.kind !== 'calls') return outcome.outcome;
    watchDeadline();

    const { session, agent } = outcome;
    const ran = await runCalls(
      {
        session,
        agent,
        runKey,
        invocationId: state.invocationId,
        ...state.acting,
        ...(state.handedOnBy === undefined ? {} : { handedOn: state.handedOnBy.length }),
        ...(state.traceparent === undefined ? {} : { traceparent: state.traceparent }),
      },
      turnOf(start, state),
      outcome,
      {
        observer: observerOf(watch),
        steering,
        requests,
        jobs,
        tree: {
          parent: parentOf(start, state, watch),
          rootWorkflowId,
          path: pathOf(state),
          fence: { startedAt: state.chainStartedAt, invocation: state.number },
        },
      },
    );
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
    if (ran.unsettled.length > 0) await settleStep(start, state, ran.unsettled);
    if (transferToAgent !== undefined) handOn(state, transferToAgent);
    await watch.betweenSteps();
  }
}

/** What the agents of a plan came to, that of those that said nothing too, is in the store before their agent is asked again. */
async function runAgentsOf(
  start: AgentTurnStart,
  state: InvocationState,
  watch: InvocationWatch,
  plan: AgentPlan,
): Promise<void> {
  const rootWorkflowId = start.child?.rootWorkflowId ?? workflowInfo().workflowId;
  const run = {
    turn: parentOf(start, state, watch),
    state,
    rootWorkflowId,
    betweenAgents: watch.betweenSteps,
  };
  const { lost } = await runPlan(run, plan);
  if (lost.length > 0) await settleStep(start, state, [], lost);
  await watch.betweenSteps();
}

function parentOf(start: AgentTurnStart, state: InvocationState, { children }: InvocationWatch): ParentTurn {
  const { app, userId, sessionId } = start;
  const { priority, traceparent } = state;
  const runConfig =
    state.runConfig ?? (start.child !== undefined || state.number === 1 ? start.runConfig : undefined);
  return {
    ...{ app, userId, sessionId, children },
    ...(runConfig === undefined ? {} : { runConfig }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(priority === undefined ? {} : { priority }),
  };
}

/** From now on this agent acts; those before it come to their end behind it. */
function handOn(state: InvocationState, to: string): void {
  if (state.agent !== undefined) state.handedOnBy = [...(state.handedOnBy ?? []), state.agent];
  state.agent = to;
  state.model = undefined;
  state.enters = true;
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
