import { isPlain } from '../schema/copy-plain.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { agentOfTool } from '../tools/base-tool.ts';
import { isBaseToolset, type ToolUnion } from '../tools/base-toolset.ts';
import { calledAgent } from './agent-tool.ts';
import { type BaseAgent, CHECKED_NOW, ownerOf } from './base-agent.ts';
import { isLlmAgent, type LlmAgent } from './llm-agent.ts';
import { agentWithModel } from './llm-agent-view.ts';
import { subAgentTools } from './mode-tools.ts';

/** An agent and those below it, itself first. */
export function agentsOfTree(agent: BaseAgent): BaseAgent[] {
  return [agent, ...agent.subAgents.flatMap(agentsOfTree)];
}

/**
 * All agents of some trees, and of their tools, that one worker may run. Agents of other task queues are left out, and agents of
 * toolsets, which aren't known beforehand.
 */
export function agentsWithin(
  roots: Iterable<BaseAgent>,
  check: (agent: BaseAgent) => void = () => {},
): BaseAgent[] {
  const seen = new Set<BaseAgent>();
  const add = (agent: BaseAgent): void => {
    if (seen.has(agent)) return;
    seen.add(agent);
    check(agent);
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
 * Checks the agents of some trees, and of their tools, as they are now.
 *
 * @throws DefinitionError
 */
export function assertAgents(roots: Iterable<BaseAgent>): void {
  checkedAgents(roots);
  // Sub-agents are made before those above them, so that only a whole tree says whose model they have.
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
  for (const [agent, fields] of checkedAgents(roots)) {
    taken.add(agent);
    refuseChanges(agent, fields);
  }
}

/** The fields of agents that no worker has taken yet, each agent checked before those below it are looked for. */
function checkedAgents(roots: Iterable<BaseAgent>): Map<BaseAgent, object> {
  const checked = new Map<BaseAgent, object>();
  agentsWithin(roots, (agent) => {
    if (isLlmAgent(agent)) subAgentTools(agent);
    // An agent of another copy of the package may be older.
    if (!taken.has(agent)) checked.set(agent, agent[CHECKED_NOW]?.() ?? {});
  });
  return checked;
}

/** Fields whose values are settings through and through. Other fields hold objects of users, which may have a state. */
const SETTINGS: readonly string[] = ['generateContentConfig', 'staticInstruction', 'durable'];

function refuseChanges(agent: BaseAgent, fields: object): void {
  const owner = ownerOf(agent);
  for (const [field, value] of Object.entries(fields)) {
    const refuse = (): never => {
      const problem =
        'a worker runs the agent by now; change it before its first turn, or run an `agent.clone({ … })`';
      throw new DefinitionError({ owner, field, problem });
    };
    const kept = unchangeable(value, refuse, SETTINGS.includes(field));
    Object.defineProperty(agent, field, { get: () => kept, set: refuse, enumerable: true });
  }
}

/** The value itself, or a copy of a list, and of a setting with all that it holds, whose changes are refused. */
function unchangeable(value: unknown, refuse: () => never, isSetting: boolean): unknown {
  const within = (member: unknown): unknown => (isSetting ? unchangeable(member, refuse, true) : member);
  let copy: object;
  if (Array.isArray(value)) copy = value.map(within);
  else if (isSetting && isPlain(value)) {
    copy = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, within(member)]));
  } else return value;
  return new Proxy(Object.freeze(copy), { set: refuse, defineProperty: refuse, deleteProperty: refuse });
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
  return (agent.tools ?? []).flatMap((tool) => {
    if (isBaseToolset(tool) || agentOfTool(tool)?.taskQueue !== undefined) return [];
    const called = calledAgent(tool);
    return called === undefined ? [] : [called];
  });
}
