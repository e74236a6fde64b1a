import type { AgentView } from '../../tools/invocation-context.ts';
import { asksModel } from '../llm-agent-view.ts';

/** Most transfers of a turn: with more, two agents each take the other for the better one. */
export const MOST_TRANSFERS = 32;

/**
 * The agents to which a turn may be transferred from this one: its sub-agents, and below an `LlmAgent` its parent and that one's
 * other sub-agents, unless it says otherwise. Semantics: `getTransferTargets` of `@google/adk` 2.0.0.
 */
export function transferTargets(agent: AgentView): readonly AgentView[] {
  const { subAgents, parentAgent } = agent;
  if (!asksModel(agent) || !asksModel(parentAgent)) return subAgents;
  return [
    ...subAgents,
    ...(agent.disallowTransferToParent ? [] : [parentAgent]),
    ...(agent.disallowTransferToPeers ? [] : parentAgent.subAgents.filter(({ name }) => name !== agent.name)),
  ];
}
