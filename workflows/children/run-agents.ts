import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type {
  AgentPlan,
  ChildStart,
  PlannedAgent,
  RanAgent,
  TracedBelow,
} from '../../src/protocol/agent-run.ts';
import { runKeyOfAgent } from '../../src/protocol/identity.ts';
import { termsOf } from '../calls/call-input.ts';
import type { InvocationState, PlanProgress } from '../turn/turn-state.ts';
import { type EndedChild, type ParentTurn, runChild } from './run-child.ts';

/** So many of what ran before are told to the agent that has planned them. */
const MOST_TOLD = 100;

/** The run whose agents they are. */
export interface PlanningRun {
  turn: ParentTurn;
  state: InvocationState;
  rootWorkflowId: string;
  /** Between two agents: may hand over to another run of the workflow. */
  betweenAgents(): Promise<void>;
}

/** What a plan came to, and those that have ended without a word in the store. */
export interface RanPlan {
  ran: RanAgent[];
  lost: RanAgent[];
}

/** Runs the agents of a plan, from where it stands. What it came to is in the state, until its agent is asked again. */
export async function runPlan(run: PlanningRun, plan: AgentPlan): Promise<RanPlan> {
  const { state } = run;
  const ran = plan.order === 'parallel' ? await runBesideOthers(run, plan) : await runInTurn(run, plan);
  delete state.planned;
  state.ran = ran.slice(-MOST_TOLD).map(told);
  if (plan.order !== 'loop' && ran.some(({ escalated }) => escalated)) state.escalated = true;
  return { ran: state.ran, lost: ran.filter(isLost).map(told) };
}

type Ran = RanAgent & { forced?: true };

async function runInTurn(run: PlanningRun, plan: AgentPlan): Promise<Ran[]> {
  const { state } = run;
  const progress: PlanProgress = state.planned ?? { plan, index: 0, iteration: 1, ran: [] };
  state.planned = progress;
  const { maxIterations = Number.POSITIVE_INFINITY } = plan;
  const rounds = plan.order === 'loop' ? maxIterations : 1;
  const ran: Ran[] = [...progress.ran];
  for (; progress.iteration <= rounds; progress.iteration += 1) {
    for (; progress.index < plan.agents.length; progress.index += 1) {
      const agent = plan.agents[progress.index] as PlannedAgent;
      const ended = await runPlanned(run, agent, progress);
      ran.push(ended);
      progress.ran = ran.slice(-MOST_TOLD).map(told);
      if (ended.status !== 'completed') return ran;
      if (plan.order === 'loop' && ended.escalated) return ran;
      const isLast = progress.index + 1 === plan.agents.length && progress.iteration === rounds;
      if (isLast) continue;
      progress.index += 1;
      await run.betweenAgents();
      progress.index -= 1;
    }
    progress.index = 0;
  }
  return ran;
}

/** The first that fails has the others cancelled, unless they are to go on. */
async function runBesideOthers(run: PlanningRun, plan: AgentPlan): Promise<Ran[]> {
  const ran: Ran[] = [];
  const scope = new CancellationScope({ cancellable: true });
  let hasFailed = false;
  const left = [...plan.agents.entries()].values();
  const work = async () => {
    for (const [index, agent] of left) {
      if (hasFailed) return;
      try {
        const ended = await runPlanned(run, agent, { index, iteration: 1 });
        ran.push(ended);
        if (ended.status === 'completed' || plan.continueOnError) continue;
        hasFailed = true;
        scope.cancel();
      } catch (error) {
        if (!hasFailed || !isCancellation(error)) throw error;
        const { name } = agent;
        const runKey = keyOf(run, name, { index, iteration: 1 });
        ran.push({ name, runKey, status: 'interrupted' });
      }
    }
  };
  await scope.run(async () => {
    const lanes = Math.min(plan.maxParallel, plan.agents.length);
    const ended = await Promise.allSettled(Array.from({ length: lanes }, work));
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  });
  // Who has failed is told first: the others have ended for it.
  return hasFailed ? ran.toSorted((one, other) => rank(one) - rank(other)) : ran;
}

function rank({ status, error }: Ran): number {
  return status === 'failed' || (status === 'interrupted' && error !== undefined) ? 0 : 1;
}

async function runPlanned(
  run: PlanningRun,
  { name, root, within, branch, taskQueue }: PlannedAgent,
  place: { index: number; iteration: number },
): Promise<Ran> {
  const { state, rootWorkflowId, turn } = run;
  const runKey = keyOf(run, name, place);
  const start: ChildStart = {
    rootWorkflowId,
    runKey,
    plannedBy: state.runKey ?? state.invocationId,
    agent: { name, ...(root === undefined ? {} : { root }), ...(within === undefined ? {} : { within }) },
    path: [...pathOf(state), name],
    ...(branch === undefined ? {} : { branch }),
    ...termsOf(state.acting ?? {}),
    invocationId: state.invocationId,
    tracedBelow: belowOf(state),
    fence: { startedAt: state.chainStartedAt, invocation: state.number },
    ...(state.session === undefined ? {} : { session: state.session }),
    seq: state.seq,
  };
  const ended = await runChild(turn, { start, ...(taskQueue === undefined ? {} : { taskQueue }) });
  state.seq = Math.max(state.seq, ended.seq);
  if (ended.usage !== undefined && ended.usage.modelCalls > state.usage.modelCalls) state.usage = ended.usage;
  return ranOf(name, runKey, ended);
}

function keyOf({ state }: PlanningRun, agent: string, place: { index: number; iteration: number }): string {
  return runKeyOfAgent(state.runKey ?? state.invocationId, { agent, step: state.step, ...place });
}

function ranOf(name: string, runKey: string, { status, escalated, error }: EndedChild): Ran {
  const forced = status === 'terminated' || status === 'timed out';
  return {
    name,
    runKey,
    status: forced ? 'interrupted' : status,
    ...(escalated ? { escalated } : {}),
    ...(error === undefined ? {} : { error }),
    ...(forced ? { forced, error: { code: 'HOLDFAST_AGENT_LOST', message: `it was ${status}` } } : {}),
  };
}

/** Names of the agents from the root to the one that acts, which may have been handed the turn by the one that it began with. */
export function pathOf({ acting, agent, handedOnBy }: InvocationState): readonly string[] {
  const path = acting?.path ?? handedOnBy?.slice(0, 1) ?? [];
  return agent === undefined || path.at(-1) === agent ? path : [...path, agent];
}

function belowOf({ acting, invocationId, runKey }: InvocationState): TracedBelow {
  return { root: acting?.tracedBelow?.root ?? invocationId, by: runKey ?? invocationId, at: Date.now() };
}

function isLost({ forced }: Ran): boolean {
  return forced === true;
}

function told({ forced: _forced, ...ran }: Ran): RanAgent {
  return ran;
}
