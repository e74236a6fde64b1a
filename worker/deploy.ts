import type { Deployment } from '../activities/deployment.ts';
import { isLlmAgent, type LlmAgent } from '../src/agents/llm-agent.ts';
import { DefinitionError } from '../src/schema/definition-error.ts';

/** @throws DefinitionError without agents, for two of one name, and for an unknown root agent. */
export function deploy(agents: readonly LlmAgent[], rootAgent?: string): Deployment {
  const byName = new Map<string, LlmAgent>();
  if (!Array.isArray(agents)) throw invalid('agents', 'expected a list of agents');
  for (const [index, agent] of agents.entries()) {
    if (!isLlmAgent(agent)) throw invalid(`agents[${index}]`, 'expected an LlmAgent');
    const namesake = byName.get(agent.name);
    if (namesake !== undefined && namesake !== agent) {
      throw invalid('agents', `two agents are named ${JSON.stringify(agent.name)}`);
    }
    // A model that nobody knows is told here, and not by the first turn.
    void agent.canonicalModel;
    byName.set(agent.name, agent);
  }
  const root = rootAgent ?? agents[0]?.name;
  if (root === undefined) throw invalid('agents', 'expected at least one agent');
  if (!byName.has(root)) throw invalid('rootAgent', `no agent is named ${JSON.stringify(root)}`);
  return { rootAgent: root, agents: byName };
}

function invalid(field: string, problem: string): DefinitionError {
  return new DefinitionError({ owner: 'createWorker', field, problem });
}
