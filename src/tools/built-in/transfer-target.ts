import type { BaseAgent } from '../../agents/base-agent.ts';
import { didYouMean } from '../../schema/nearest-name.ts';
import type { Context } from '../context.ts';

/**
 * Lets another agent of the tree act from here on.
 *
 * @returns what the model is told: that it is queued, or an error that it can recover from.
 */
export function transferTo(name: string, { invocationContext, actions }: Context): unknown {
  const agent = invocationContext.agent;
  if (agent?.rootAgent.findAgent(name) === undefined) {
    const known = agent === undefined ? [] : othersIn(agent);
    const others = known.length === 0 ? 'there is no other agent' : `agents are ${known.join(', ')}`;
    return { error: `unknown agent "${name.slice(0, 128)}"; ${others}${didYouMean(name, known)}` };
  }
  actions.transferToAgent = name;
  return 'Transfer queued';
}

function othersIn(agent: BaseAgent): string[] {
  const names = (each: BaseAgent): string[] => [each.name, ...each.subAgents.flatMap(names)];
  return names(agent.rootAgent).filter((name) => name !== agent.name);
}
