import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import { isLoopAgent } from '../../src/agents/loop-agent.ts';
import { isParallelAgent } from '../../src/agents/parallel-agent.ts';
import { isSequentialAgent } from '../../src/agents/sequential-agent.ts';
import { draftFromError, draftOfEnd, type StepDraft } from '../../src/flows/step-draft.ts';
import type { AgentPlan } from '../../src/protocol/agent-run.ts';
import type { TurnError } from '../../src/protocol/turn.ts';
import type { NewEvent } from '../../src/store/turns/step-store.ts';
import type { StepParts } from '../model/step-parts.ts';
import { endOfAgents, failureOf, plannedAgent } from './agents-plan.ts';
import { draftFromCustomAgent } from './custom-agent-step.ts';

/** Names on a path: deeper trees are more likely to be endless than meant. */
const DEEPEST = 16;

/**
 * What a step of an agent comes to that asks no model: the agents that it has run, or its end behind them.
 *
 * @param before what the step has said until then.
 */
export async function draftFromAgents(step: StepParts, before: NewEvent[]): Promise<StepDraft> {
  const { agent, asked, input } = step;
  const plan = planOf(step, agent);
  if (plan === undefined) return await draftFromCustomAgent(step, before);
  const ran = input.enters === true ? undefined : input.ran;
  if (ran === undefined) return { ...draftOfEnd(asked, before), agents: plan };
  const failed = plan.continueOnError ? undefined : ran.find(({ status }) => status !== 'completed');
  if (failed !== undefined) return draftFromError(asked, failureOf(failed), { events: before });
  return endOfAgents(step, before);
}

/** Of an agent that is further below its root than any may be, or that would run others there. */
export function depthError({ agent, input: { path = [] } }: StepParts): TurnError | undefined {
  const deepest = isLlmAgent(agent) ? DEEPEST : DEEPEST - 1;
  if (path.length <= deepest) return undefined;
  return {
    code: 'HOLDFAST_TREE_TOO_DEEP',
    message: `agent ${JSON.stringify(agent.name)} is the ${path.length}th of its path, and at most ${DEEPEST} run below one another`,
  };
}

/** Undefined for an agent that says itself what runs. */
function planOf(step: StepParts, agent: BaseAgent): AgentPlan | undefined {
  const agents = (isBeside: boolean) =>
    agent.subAgents.map((subAgent) => plannedAgent(step, subAgent, isBeside));
  if (isSequentialAgent(agent)) return { order: 'sequence', agents: agents(false), maxParallel: 1 };
  if (isLoopAgent(agent)) {
    const { maxIterations } = agent;
    const limit = maxIterations === undefined ? {} : { maxIterations };
    return { order: 'loop', agents: agents(false), maxParallel: 1, ...limit };
  }
  if (!isParallelAgent(agent)) return undefined;
  const { continueOnError, maxParallel } = agent;
  return {
    order: 'parallel',
    agents: agents(true),
    maxParallel,
    ...(continueOnError ? { continueOnError: true as const } : {}),
  };
}
