import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import { agentOfTool, BaseTool } from '../../src/tools/base-tool.ts';

/** How steps and calls run: the suites of a mode ask for it by `HOLDFAST_TEST_STEPS`. */
export type StepMode = 'activity' | 'inline' | 'chain';

const given = process.env.HOLDFAST_TEST_STEPS;
export const STEP_MODE: StepMode = given === 'inline' || given === 'chain' ? given : 'activity';

/** Gives agents, with all below them, the mode in the place of what their definitions say. */
export function inStepMode<Agent extends BaseAgent>(
  agents: readonly Agent[],
  mode = STEP_MODE,
): readonly Agent[] {
  if (mode !== 'activity') for (const agent of agents) change(agent, mode);
  return agents;
}

function change(agent: BaseAgent, mode: StepMode): void {
  for (const below of agent.subAgents) change(below, mode);
  if (!isLlmAgent(agent)) return;
  set(agent, { steps: mode === 'chain' ? mode : undefined });
  for (const tool of agent.tools) {
    if (!(tool instanceof BaseTool)) continue;
    set(tool, { execution: 'inline' });
    const called = agentOfTool(tool)?.agent;
    if (called !== undefined) change(called as BaseAgent, mode);
  }
}

function set(definition: { readonly durable: object }, durable: object): void {
  const value = Object.freeze({ ...definition.durable, ...durable });
  Object.defineProperty(definition, 'durable', {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}
