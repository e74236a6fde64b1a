import { agentOfTool } from '../tools/agent-of-tool.ts';
import { isBaseToolset } from '../tools/base-toolset.ts';
import type { BaseAgent } from './base-agent.ts';
import { isLlmAgent } from './is-llm-agent.ts';
import type { LlmAgent } from './llm-agent.ts';

/** An agent and those below it, itself first. */
export function agentsOfTree(agent: BaseAgent): BaseAgent[] {
  return [agent, ...agent.subAgents.flatMap(agentsOfTree)];
}

/**
 * All agents of some trees, and those of their tools: what one worker may come to run. Those that live elsewhere are left out, and
 * so are those of toolsets, which nobody knows beforehand.
 */
export function agentsWithin(roots: Iterable<BaseAgent>): BaseAgent[] {
  const seen = new Set<BaseAgent>();
  const add = (agent: BaseAgent): void => {
    if (seen.has(agent)) return;
    seen.add(agent);
    for (const subAgent of agent.subAgents) add(subAgent);
    for (const behind of agentsOfTools(agent)) add(behind.rootAgent);
  };
  for (const root of roots) add(root);
  return [...seen];
}

/** Those of {@link agentsWithin} that ask a model. */
export function llmAgentsOf(roots: Iterable<BaseAgent>): LlmAgent[] {
  return agentsWithin(roots).filter(isLlmAgent);
}

function agentsOfTools(agent: BaseAgent): BaseAgent[] {
  if (!isLlmAgent(agent)) return [];
  return agent.tools.flatMap((tool) => {
    const runs = isBaseToolset(tool) ? undefined : agentOfTool(tool);
    return runs === undefined || runs.taskQueue !== undefined ? [] : [runs.agent];
  });
}
