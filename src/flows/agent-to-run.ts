import type { BaseAgent } from '../agents/base-agent.ts';
import { isLlmAgent } from '../agents/llm-agent.ts';
import type { Event } from '../events/event.ts';
import { findMatchingFunctionCall } from '../events/request-calls.ts';

/**
 * The agent of a tree that acts in a turn without a named agent: the agent that asked for the message's answer, else the last
 * speaker if it takes transfers, else the root. Semantics: `determineAgentForResumption` of `@google/adk` 2.0.0.
 *
 * @param events visible ones, in order, the turn's message last.
 */
export function agentToRun(root: BaseAgent, events: readonly Event[]): BaseAgent {
  const asking = root.findAgent(findMatchingFunctionCall(events)?.author ?? '');
  if (asking !== undefined && (asking === root || isRoutable(asking, root) || isOwn(asking, root)))
    return asking;
  for (const { author } of events.toReversed()) {
    if (author === root.name) return root;
    const agent = author === undefined ? undefined : root.findSubAgent(author);
    if (agent !== undefined && isRoutable(agent, root)) return agent;
  }
  return root;
}

/** An agent of its own code, to which a turn was transferred. */
function isOwn(agent: BaseAgent, root: BaseAgent): boolean {
  return !isLlmAgent(agent) && agent.parentAgent !== undefined && isRoutable(agent.parentAgent, root);
}

/** {@link agentToRun} under the name and with the arguments of `@google/adk` 2.0.0; every app is resumable. */
export function determineAgentForResumption(
  session: { readonly events: readonly Event[] },
  rootAgent: BaseAgent,
  _resumabilityConfig?: unknown,
): BaseAgent {
  return agentToRun(rootAgent, session.events);
}

/** Whether a turn may begin with an agent of a tree: all from it up to the root can hand the turn on to the agent above them. */
export function isRoutableLlmAgent(agent: BaseAgent): boolean {
  return isRoutable(agent, agent.rootAgent);
}

function isRoutable(agent: BaseAgent, root: BaseAgent): boolean {
  if (!isLlmAgent(agent) || agent.disallowTransferToParent) return false;
  if (agent !== root && agent.mode !== undefined) return false;
  return agent === root || (agent.parentAgent !== undefined && isRoutable(agent.parentAgent, root));
}
