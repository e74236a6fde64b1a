import type { BaseLlm } from '../models/base-llm.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { llmAgentsOf } from './agents-of-tree.ts';
import { agentOwner, type BaseAgent } from './base-agent.ts';
import { isLlmAgent } from './is-llm-agent.ts';
import type { LlmAgent } from './llm-agent.ts';

type WithModel = LlmAgent & { readonly model: string | BaseLlm };

/** The agent itself, or the nearest one above it that has a model. Semantics: `LlmAgent.canonicalModel` of `@google/adk` 2.0.0. */
export function nearestWithModel(agent: LlmAgent): WithModel | undefined {
  for (let above: BaseAgent | undefined = agent; above !== undefined; above = above.parentAgent) {
    if (isLlmAgent(above) && hasModel(above)) return above;
  }
  return undefined;
}

/** @throws DefinitionError where there is none. */
export function agentWithModel(agent: LlmAgent): WithModel {
  const found = nearestWithModel(agent);
  if (found !== undefined) return found;
  throw new DefinitionError({
    owner: agentOwner(agent.constructor.name || 'LlmAgent', agent.name),
    field: 'model',
    problem:
      "required: the name of a model ('gemini-2.5-flash'), or a BaseLlm, of the agent or of an LlmAgent above it in its " +
      "tree (an AgentTool's agent isn't below the agent that calls it)",
  });
}

/**
 * Sub-agents are made before those above them, so that only a whole tree says whose model they have.
 *
 * @throws DefinitionError for an agent of the trees, or of their tools, that has no model.
 */
export function assertModels(roots: Iterable<BaseAgent>): void {
  for (const agent of llmAgentsOf(roots)) agentWithModel(agent);
}

function hasModel(agent: LlmAgent): agent is WithModel {
  return agent.model !== undefined;
}
