import { DefinitionError } from '../schema/definition-error.ts';
import type { BaseAgent, BaseAgentConfig } from './base-agent.ts';

/** Fields of agents that do nothing but run their sub-agents. */
export const WORKFLOW_AGENT_FIELDS: readonly string[] = [
  'name',
  'description',
  'subAgents',
  'beforeAgentCallback',
  'afterAgentCallback',
] satisfies (keyof BaseAgentConfig)[];

/** @throws DefinitionError */
export function assertHasSubAgents(owner: string, { subAgents }: BaseAgent): void {
  if (subAgents.length > 0) return;
  throw new DefinitionError({
    owner,
    field: 'subAgents',
    problem: 'expected at least one agent: it does nothing but run them',
  });
}
