import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type {
  AgentPlan,
  ChildStart,
  ParentSpan,
  PlannedAgent,
  RanAgent,
} from '../../src/protocol/agent-run.ts';
import { runTermsOf } from '../../src/protocol/call-input.ts';
import { runKeyOfAgent } from '../../src/protocol/identity.ts';
import type { Turn } from '../turn/turn.ts';
import { type InvocationState, type PlanProgress, pathOf, runKeyOf } from '../turn/turn-state.ts';
import { type EndedChild, runChild } from './run-child.ts';

/** So many of what ran before are told to the agent that has planned them. */
const MOST_TOLD = 100;

/** The outcome of a plan, and the agents that have ended without an outcome in the store. */
export interface RanPlan {
  ran: RanAgent[];
  lost: RanAgent[];
}

/** Runs the agents of a plan, from where it stands. Its outcome is in the state, until its agent is asked again. */
export async function runPlan(turn: Turn, state: InvocationState, plan: AgentPlan): Promise<RanPlan> {
  const inOrder = plan.order === 'parallel' ? runBesideOthers : runInTurn;
  const ran = await inOrder(turn, state, plan);
  delete state.planned;
  state.ran = ran.slice(-MOST_TOLD).map(told);
  if (plan.order !== 'loop' && ran.some(({ escalated }) => escalated)) state.escalated = true;
  return { ran: state.ran, lost: ran.filter(isLost).map(told) };
}

type Ran = RanAgent & { forced?: true };

async function runInTurn(turn: Turn, state: InvocationState, plan: AgentPlan): Promise<Ran[]> {
  const progress: PlanProgress = state.planned ?? { plan, index: 0, iteration: 1, ran: [] };
  state.planned = progress;
  const { maxIterations = Number.POSITIVE_INFINITY } = plan;
  const rounds = plan.order === 'loop' ? maxIterations : 1;
  const ran: Ran[] = [...progress.ran];
  for (; progress.iteration <= rounds; progress.iteration += 1) {
    for (; progress.index < plan.agents.length; progress.index += 1) {
      const agent = plan.agents[progress.index] as PlannedAgent;
      const ended = await runPlanned(turn, state, agent, progress);
      ran.push(ended);
      progress.ran = ran.slice(-MOST_TOLD).map(told);
      if (ended.status !== 'completed') return ran;
      if (plan.order === 'loop' && ended.escalated) return ran;
      const isLast = progress.index + 1 === plan.agents.length && progress.iteration === rounds;
      if (isLast) continue;
      progress.index += 1;
      await turn.continueWhereSuggested();
      progress.index -= 1;
    }
    progress.index = 0;
  }
  return ran;
}

/** The first that fails has the others cancelled, unless they are to go on. */
async function runBesideOthers(turn: Turn, state: InvocationState, plan: AgentPlan): Promise<Ran[]> {
  const ran: Ran[] = [];
  const scope = new CancellationScope({ cancellable: true });
  let hasFailed = false;
  const left = [...plan.agents.entries()].values();
  const work = async () => {
    for (const [index, agent] of left) {
      if (hasFailed) return;
      try {
        const ended = await runPlanned(turn, state, agent, { index, iteration: 1 });
        ran.push(ended);
        if (ended.status === 'completed' || plan.continueOnError) continue;
        hasFailed = true;
        scope.cancel();
      } catch (error) {
        if (!hasFailed || !isCancellation(error)) throw error;
        const { name } = agent;
        const runKey = keyOf(state, name, { index, iteration: 1 });
        ran.push({ name, runKey, status: 'interrupted' });
      }
    }
  };
  await scope.run(async () => {
    const lanes = Math.min(plan.maxParallel, plan.agents.length);
    const ended = await Promise.allSettled(Array.from({ length: lanes }, work));
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  });
  // The one that has failed is told first: the others have ended for it.
  return hasFailed ? ran.toSorted((one, other) => rank(one) - rank(other)) : ran;
}

function rank({ status, error }: Ran): number {
  return status === 'failed' || (status === 'interrupted' && error !== undefined) ? 0 : 1;
}

async function runPlanned(
  turn: Turn,
  state: InvocationState,
  { name, root, within, branch, taskQueue }: PlannedAgent,
  place: { index: number; iteration: number },
): Promise<Ran> {
  const runKey = keyOf(state, name, place);
  const start: ChildStart = {
    rootWorkflowId: turn.rootWorkflowId,
    runKey,
    plannedBy: runKeyOf(state),
    agent: { name, root, within },
    path: [...pathOf(state), name],
    branch,
    ...runTermsOf(state.acting ?? {}),
    invocationId: state.invocationId,
    tracedBelow: belowOf(state),
    fence: { startedAt: state.chainStartedAt, invocation: state.number },
    session: state.session,
    seq: state.seq,
  };
  const ended = await runChild(turn, state, { start, taskQueue });
  state.seq = Math.max(state.seq, ended.seq);
  if (ended.usage !== undefined && ended.usage.modelCalls > state.usage.modelCalls) state.usage = ended.usage;
  return ranOf(name, runKey, ended);
}

function keyOf(state: InvocationState, agent: string, place: { index: number; iteration: number }): string {
  return runKeyOfAgent(runKeyOf(state), { agent, step: state.step, ...place });
}

function ranOf(name: string, runKey: string, { status, escalated, error }: EndedChild): Ran {
  const forced = status === 'terminated' || status === 'timed out';
  return {
    name,
    runKey,
    status: forced ? 'interrupted' : status,
    ...(escalated ? { escalated } : {}),
    error,
    ...(forced ? { forced, error: { code: 'HOLDFAST_AGENT_LOST', message: `it was ${status}` } } : {}),
  };
}

function belowOf(state: InvocationState): ParentSpan {
  const { acting, invocationId } = state;
  return { root: acting?.tracedBelow?.root ?? invocationId, by: runKeyOf(state), at: Date.now() };
}

function isLost({ forced }: Ran): boolean {
  return forced === true;
}

function told({ forced: _forced, ...ran }: Ran): RanAgent {
  return ran;
}
