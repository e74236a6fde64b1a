import type { BaseLlm } from '../models/base-llm.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { AgentView } from '../tools/invocation-context.ts';
import { agentOwner } from './base-agent.ts';
import { asksModel, type LlmAgentView } from './llm-agent-view.ts';

type WithModel = LlmAgentView & { readonly model: string | BaseLlm };

/** The agent itself, or the nearest one above it that has a model. Semantics: `LlmAgent.canonicalModel` of `@google/adk` 2.0.0. */
export function nearestWithModel(agent: LlmAgentView): WithModel | undefined {
  for (let above: AgentView | undefined = agent; above !== undefined; above = above.parentAgent) {
    if (asksModel(above) && hasModel(above)) return above;
  }
  return undefined;
}

/** @throws DefinitionError where there is none. */
export function agentWithModel(agent: LlmAgentView): WithModel {
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

function hasModel(agent: LlmAgentView): agent is WithModel {
  return agent.model !== undefined;
}
