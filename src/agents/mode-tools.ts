import type { BaseTool } from '../tools/base-tool.ts';
import { requestInputTool } from '../tools/built-in/question-tools.ts';
import { AgentTool } from './agent-tool.ts';
import { isLlmAgent, type LlmAgent } from './llm-agent.ts';

const toolOf = new WeakMap<LlmAgent, AgentTool>();

/**
 * The tools that the sub-agents of an agent are by their `mode`, and their places.
 *
 * @throws DefinitionError for a sub-agent whose input is no object.
 */
export function subAgentTools({ subAgents }: LlmAgent): { field: string; tools: [AgentTool] }[] {
  return subAgents.flatMap((agent, index) => {
    if (!isLlmAgent(agent) || agent.mode === undefined) return [];
    const tool = toolOf.get(agent) ?? new AgentTool({ agent });
    toolOf.set(agent, tool);
    return [{ field: `subAgents[${index}]`, tools: [tool] }];
  });
}

/** The tools of an agent's own `mode`: to end its task, and to ask. */
export function tasksTools(agent: LlmAgent): BaseTool[] {
  if (agent.mode !== 'task') return [];
  return [agent.finishTaskTool, ...(agent.tools.includes(requestInputTool) ? [] : [requestInputTool])];
}

/** The tool of this name that runs because of a `mode`. A call of `finish_task` is an answer, and not run. */
export function toolOfMode(agent: LlmAgent, name: string): BaseTool | undefined {
  if (agent.mode === 'task' && name === requestInputTool.name) return requestInputTool;
  return subAgentTools(agent)
    .flatMap(({ tools }) => tools)
    .find((tool) => tool.name === name);
}
