import { didYouMean } from '../../schema/nearest-name.ts';
import type { Context } from '../../tools/context.ts';
import { type AgentView, InvocationContext } from '../../tools/invocation-context.ts';
import { MOST_TRANSFERS, transferTargets } from './transfer-targets.ts';

/**
 * Lets another agent of the tree act from here on.
 *
 * @returns what the model is told: that it is queued, or an error that it can recover from.
 */
export function transferTo(name: string, { invocationContext, actions }: Context): unknown {
  const { agent, handedOn = 0 } = InvocationContext.initOf(invocationContext);
  const problem = transferProblem(agent, name, handedOn);
  if (problem !== undefined) return { error: problem };
  actions.transferToAgent = name;
  return 'Transfer queued';
}

/**
 * Why the turn is not transferred to an agent of this name; undefined if it may be.
 *
 * @param handedOn number of transfers by now.
 */
function transferProblem(agent: AgentView | undefined, name: string, handedOn: number): string | undefined {
  const allowed = agent === undefined ? [] : transferTargets(agent).map((target) => target.name);
  if (!allowed.includes(name)) {
    const others = allowed.length === 0 ? 'there is no other agent' : `agents are ${allowed.join(', ')}`;
    return `unknown agent "${name.slice(0, 128)}"; ${others}${didYouMean(name, allowed)}`;
  }
  if (handedOn < MOST_TRANSFERS) return undefined;
  return `this turn was handed on ${handedOn} times, and at most ${MOST_TRANSFERS} times it is: answer it yourself`;
}
