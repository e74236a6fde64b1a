import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { assertAgentName } from './agent-name.ts';
import { callbackList } from './callback-list.ts';
import type { AfterAgentCallback, BeforeAgentCallback, SingleAgentCallback } from './callbacks.ts';

const BASE_AGENT = Symbol.for('holdfast.baseAgent');

export interface BaseAgentConfig {
  /** A JavaScript identifier, hyphens allowed, unique among the agents of a tree; not `user`. */
  name: string;
  /** Tells other agents, and the models that choose among them, what the agent is for. */
  description?: string;
  /** Runs before the agent does, once for each of its runs. Content that it returns is the agent's answer. */
  beforeAgentCallback?: BeforeAgentCallback;
  /** Runs when the agent has come to its end. Content that it returns is said behind the agent's answer. */
  afterAgentCallback?: AfterAgentCallback;
}

/**
 * What all agents have in common: a name, and a place in a tree of agents. Agents are values: they are checked when
 * they are made, and the workflow runs them. Semantics: `BaseAgent` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the field.
 */
export abstract class BaseAgent {
  readonly [BASE_AGENT] = true;
  readonly name: string;
  /** Defaults to `''`. */
  readonly description: string;
  readonly subAgents: readonly BaseAgent[];
  /** In order; empty without any. */
  readonly beforeAgentCallback: readonly SingleAgentCallback[];
  /** In order; empty without any. */
  readonly afterAgentCallback: readonly SingleAgentCallback[];
  /** The agent that this one is a sub-agent of. */
  parentAgent?: BaseAgent;

  constructor(config: BaseAgentConfig, subAgents: readonly BaseAgent[] = []) {
    const kind = new.target.name || 'BaseAgent';
    if (!isRecord(config)) {
      throw new DefinitionError({ owner: kind, problem: `expected an object, got ${kindOf(config)}` });
    }
    assertAgentName(kind, config.name);
    const owner = agentOwner(kind, config.name);
    if (config.description !== undefined && typeof config.description !== 'string') {
      throw new DefinitionError({
        owner,
        field: 'description',
        problem: `expected a string, got ${kindOf(config.description)}`,
      });
    }
    this.name = config.name;
    this.description = config.description ?? '';
    this.beforeAgentCallback = callbackList(owner, 'beforeAgentCallback', config.beforeAgentCallback);
    this.afterAgentCallback = callbackList(owner, 'afterAgentCallback', config.afterAgentCallback);
    assertSubAgents(owner, this.name, subAgents);
    this.subAgents = Object.freeze([...subAgents]);
    for (const subAgent of subAgents) subAgent.parentAgent = this;
  }

  get canonicalBeforeAgentCallbacks(): readonly SingleAgentCallback[] {
    return this.beforeAgentCallback;
  }

  get canonicalAfterAgentCallbacks(): readonly SingleAgentCallback[] {
    return this.afterAgentCallback;
  }

  /** The top of the tree; the agent itself where it has no parent. */
  get rootAgent(): BaseAgent {
    let agent: BaseAgent = this;
    while (agent.parentAgent !== undefined) agent = agent.parentAgent;
    return agent;
  }

  /** This agent or one below it, by name. */
  findAgent(name: string): BaseAgent | undefined {
    return this.name === name ? this : this.findSubAgent(name);
  }

  /** An agent below this one, by name. */
  findSubAgent(name: string): BaseAgent | undefined {
    for (const subAgent of this.subAgents) {
      const found = subAgent.findAgent(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** Whether `value` is an agent, of this or of another copy of the package. */
export function isBaseAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && BASE_AGENT in value && value[BASE_AGENT] === true;
}

/** How messages call an agent. */
export function agentOwner(kind: string, name: string): string {
  return `${kind} "${name}"`;
}

function assertSubAgents(owner: string, name: string, subAgents: readonly BaseAgent[]): void {
  const taken = new Set([name]);
  for (const [index, subAgent] of subAgents.entries()) {
    const problem = problemOf(subAgent, name, taken);
    if (problem !== undefined) throw new DefinitionError({ owner, field: `subAgents[${index}]`, problem });
  }
}

function problemOf(subAgent: unknown, parent: string, taken: Set<string>): string | undefined {
  if (!isBaseAgent(subAgent)) return `expected an agent, got ${kindOf(subAgent)}`;
  if (subAgent.parentAgent !== undefined) {
    return (
      `Agent "${subAgent.name}" already has a parent agent, current parent: "${subAgent.parentAgent.name}", ` +
      `trying to add: "${parent}"`
    );
  }
  for (const member of namesIn(subAgent)) {
    if (taken.has(member)) return `duplicate agent name "${member}": names are unique within a tree`;
    taken.add(member);
  }
  return undefined;
}

function namesIn(agent: BaseAgent): string[] {
  return [agent.name, ...agent.subAgents.flatMap(namesIn)];
}
