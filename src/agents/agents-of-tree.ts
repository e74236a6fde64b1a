import { DefinitionError } from '../schema/definition-error.ts';
import { agentOfTool } from '../tools/base-tool.ts';
import { isBaseToolset, type ToolUnion } from '../tools/base-toolset.ts';
import { calledAgent } from './agent-tool.ts';
import { agentOwner, type BaseAgent, CHECKED_NOW } from './base-agent.ts';
import { isLlmAgent, type LlmAgent } from './llm-agent.ts';
import { agentWithModel } from './llm-agent-view.ts';

/** An agent and those below it, itself first. */
export function agentsOfTree(agent: BaseAgent): BaseAgent[] {
  return [agent, ...agent.subAgents.flatMap(agentsOfTree)];
}

/**
 * All agents of some trees, and of their tools, that one worker may run. Agents of other task queues are left out, and agents of
 * toolsets, which aren't known beforehand.
 */
export function agentsWithin(roots: Iterable<BaseAgent>): BaseAgent[] {
  const seen = new Set<BaseAgent>();
  const add = (agent: BaseAgent): void => {
    if (seen.has(agent)) return;
    seen.add(agent);
    for (const subAgent of agent.subAgents) add(subAgent);
    for (const called of agentsOfTools(agent)) add(called.rootAgent);
  };
  for (const root of roots) add(root);
  return [...seen];
}

/** Those of {@link agentsWithin} that ask a model. */
export function llmAgentsOf(roots: Iterable<BaseAgent>): LlmAgent[] {
  return agentsWithin(roots).filter(isLlmAgent);
}

/**
 * Sub-agents are made before those above them, so that only a whole tree says whose model they have.
 *
 * @throws DefinitionError for an agent of the trees, or of their tools, that has no model.
 */
export function assertModels(roots: Iterable<BaseAgent>): void {
  for (const agent of agentsWithin(roots)) {
    for (const subAgent of agent.subAgents) subAgent.parentAgent ??= agent;
  }
  for (const agent of llmAgentsOf(roots)) agentWithModel(agent);
}

const taken = new WeakSet<BaseAgent>();

/**
 * A worker runs the agents of some trees, and of their tools, from now on: they are checked as they are, and a change, which some turns
 * would have and others not, throws.
 *
 * @throws DefinitionError
 */
export function takeAgents(roots: Iterable<BaseAgent>): void {
  for (const agent of agentsWithin(roots)) {
    if (taken.has(agent)) continue;
    // An agent of another copy of the package may be older.
    for (const [field, value] of Object.entries(agent[CHECKED_NOW]?.() ?? {})) fix(agent, field, value);
    taken.add(agent);
  }
}

function fix(agent: BaseAgent, field: string, value: unknown): void {
  const refuse = (): never => {
    throw new DefinitionError({
      owner: agentOwner(agent.constructor.name, agent.name),
      field,
      problem:
        'a worker runs the agent by now; change it before its first turn, or run an `agent.clone({ … })`',
    });
  };
  const list = { set: refuse, defineProperty: refuse, deleteProperty: refuse };
  const fixed = Array.isArray(value) ? new Proxy(Object.freeze([...value]), list) : value;
  Object.defineProperty(agent, field, { get: () => fixed, set: refuse, enumerable: true });
}

/** Tools and toolsets of {@link agentsWithin}, each once: they end with their worker. */
export function toolsWithin(roots: Iterable<BaseAgent>): Set<ToolUnion> {
  return new Set(llmAgentsOf(roots).flatMap(({ tools }) => tools));
}

/** Makes each agent's model. @throws DefinitionError for a name that no class of models takes, or whose package is not installed. */
export function resolveModels(roots: Iterable<BaseAgent>): void {
  for (const { canonicalModel } of llmAgentsOf(roots)) void canonicalModel;
}

function agentsOfTools(agent: BaseAgent): BaseAgent[] {
  if (!isLlmAgent(agent)) return [];
  return agent.tools.flatMap((tool) => {
    if (isBaseToolset(tool) || agentOfTool(tool)?.taskQueue !== undefined) return [];
    const called = calledAgent(tool);
    return called === undefined ? [] : [called];
  });
}
