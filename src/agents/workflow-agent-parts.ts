import { DefinitionError } from '../schema/definition-error.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import type { BaseAgent, BaseAgentConfig } from './base-agent.ts';

/** Fields of agents that do nothing but run their sub-agents. */
const FIELDS: readonly string[] = [
  'name',
  'description',
  'subAgents',
  'beforeAgentCallback',
  'afterAgentCallback',
] satisfies (keyof BaseAgentConfig)[];

/** Of `@google/adk` 2.0.0. */
const UNSUPPORTED = [
  'inputSchema',
  'outputSchema',
  'stateSchema',
  'rerunOnResume',
  'waitForOutput',
  'retryConfig',
  'timeout',
  'isolationScope',
];

/**
 * @param own fields that this kind of agent has beside.
 * @throws DefinitionError
 */
export function assertWorkflowAgentFields(owner: string, config: object, own: readonly string[] = []): void {
  assertKnownFields(owner, config, [...FIELDS, ...own], { unsupported: UNSUPPORTED });
}

/** @throws DefinitionError */
export function assertHasSubAgents(owner: string, { subAgents }: BaseAgent): void {
  if (subAgents.length > 0) return;
  throw new DefinitionError({
    owner,
    field: 'subAgents',
    problem: 'expected at least one agent: it does nothing but run them',
  });
}
