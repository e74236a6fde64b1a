import type { Event } from '../events/event.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import { type AgentView, InvocationContext, isInvocationContext } from '../tools/invocation-context.ts';
import { readStateSchema } from '../tools/state-schema.ts';
import {
  type AfterAgentCallback,
  type BeforeAgentCallback,
  callbackList,
  type SingleAgentCallback,
} from './callbacks.ts';

/** As in `@google/adk` 2.0.0, which takes hyphens too. */
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$_-]*$/u;

/** Names stand in workflow summaries and search attributes. */
const LONGEST = 128;

/** @throws DefinitionError */
export function assertAgentName(owner: string, name: unknown): asserts name is string {
  const problem = nameProblem(name);
  if (problem !== undefined) throw new DefinitionError({ owner, field: 'name', problem, value: name });
}

function nameProblem(name: unknown): string | undefined {
  if (name === undefined) return 'required';
  if (typeof name !== 'string') return `expected a string, got ${kindOf(name)}`;
  if (!IDENTIFIER.test(name)) {
    return (
      'Agent name must be a valid identifier. It should start with a letter or an underscore (_), and can only ' +
      'contain letters, digits (0-9), underscores, and hyphens.'
    );
  }
  if (name.length > LONGEST) return `must have at most ${LONGEST} characters, has ${name.length}`;
  if (name === 'user') return `Agent name cannot be 'user'. 'user' is reserved for end-user's input.`;
  return undefined;
}

/** Names the method by which a worker has an agent checked. */
export const CHECKED_NOW = Symbol.for('holdfast.checkedNow');

const BASE_AGENT = Symbol.for('holdfast.baseAgent');

declare module '../tools/invocation-context.ts' {
  interface ContextTypes {
    agent: BaseAgent;
  }
}

/** More below one another are more likely to be endless than meant. */
const DEEPEST = 16;

/** Configuration of every agent. Fields: `BaseAgentConfig` of `@google/adk` 2.0.0; its `parentAgent` is refused. */
export interface BaseAgentConfig {
  /** A JavaScript identifier, hyphens allowed, unique among the agents of a tree; not `user`. */
  name: string;
  /** Describes the agent's purpose to other agents, and to the models that choose among them. */
  description?: string;
  /** In their order. Each has one parent, trees are at most 16 agents deep. */
  subAgents?: BaseAgent[];
  /**
   * The keys of the session's state and their types, an object: tools and callbacks of the agent, and of agents below it without a
   * schema of their own, write no others. Keys with a prefix (`app:`, `user:`, `temp:`) are not checked.
   *
   * @default anything is written
   */
  stateSchema?: SchemaLike;
  /** Runs before the agent does, once for each of its runs. Content that it returns is the agent's answer. */
  beforeAgentCallback?: BeforeAgentCallback;
  /** Runs when the agent has finished. Content that it returns comes after the agent's answer. */
  afterAgentCallback?: AfterAgentCallback;
}

/**
 * Base of all agents: a name, and a place in a tree of agents. Agents are values: they are checked when
 * they are made, and again when a worker takes them; from then on a change throws. Semantics: `BaseAgent` of `@google/adk` 2.0.0.
 *
 * A subclass with a `runAsyncImpl` of its own is a ported agent. Each of its steps runs `runAsyncImpl` again from its start, and
 * `subAgent.runAsync(context)` gives the recorded events of a sub-agent that has run already. It must do the same each time, so it
 * may decide only by the state and by events. {@link CustomAgent} decides step by step instead.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * class Translated extends BaseAgent {
 *   constructor(readonly answerer: LlmAgent, readonly translator: LlmAgent) {
 *     super({ name: 'translated', subAgents: [answerer, translator] });
 *   }
 *   protected override async *runAsyncImpl(context: InvocationContext) {
 *     yield* this.answerer.runAsync(context);
 *     if (context.session.state.language !== 'en') yield* this.translator.runAsync(context);
 *   }
 * }
 */
export abstract class BaseAgent<TConfig extends BaseAgentConfig = BaseAgentConfig> implements AgentView {
  readonly [BASE_AGENT] = true;
  /** As it was given, for {@link BaseAgent.clone}. */
  protected readonly config: TConfig;
  readonly name: string;
  /** Defaults to `''`. */
  readonly description: string;
  readonly subAgents: BaseAgent[];
  readonly stateSchema?: SchemaLike;
  /** In order; empty without any. */
  readonly beforeAgentCallback: SingleAgentCallback[];
  /** In order; empty without any. */
  readonly afterAgentCallback: SingleAgentCallback[];
  /** The agent that this one is a sub-agent of. */
  parentAgent?: BaseAgent;

  constructor(config: TConfig) {
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
    if ((config as { parentAgent?: unknown }).parentAgent !== undefined) {
      const problem = 'is set by the agent that lists this one in its subAgents; leave it out';
      throw new DefinitionError({ owner, field: 'parentAgent', problem });
    }
    assertRunnable(owner, this);
    this.config = Object.freeze({ ...config }) as TConfig;
    this.name = config.name;
    this.description = config.description ?? '';
    if (config.stateSchema !== undefined) {
      readStateSchema(owner, config.stateSchema);
      this.stateSchema = config.stateSchema;
    }
    this.beforeAgentCallback = callbackList(owner, 'beforeAgentCallback', config.beforeAgentCallback);
    this.afterAgentCallback = callbackList(owner, 'afterAgentCallback', config.afterAgentCallback);
    this.subAgents = checkedSubAgents(owner, this, config.subAgents);
    for (const subAgent of this.subAgents) subAgent.parentAgent = this;
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

  /**
   * Another agent of the same class and configuration, without a parent. Its sub-agents are clones too, unless `overrides` brings
   * others. Made by the class's constructor, which gets one configuration object. Semantics: `BaseAgent.clone` of `@google/adk` 2.0.0.
   *
   * @throws DefinitionError for values that the constructor refuses, and for `parentAgent`.
   * @example const formal = greeter.clone({ name: 'formal_greeter', instruction: 'Greet formally.' });
   */
  clone(overrides: Partial<TConfig> = {}): this {
    if (Object.hasOwn(overrides, 'parentAgent')) {
      throw new DefinitionError({
        owner: agentOwner(this.constructor.name, this.name),
        field: 'parentAgent',
        problem:
          'Cannot update `parentAgent` field in clone. Parent agent is set only when the parent agent is instantiated ' +
          'with the sub-agents.',
      });
    }
    const inherited = Object.fromEntries(
      Object.entries(this.config).map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
    );
    const subAgents = Object.hasOwn(overrides, 'subAgents')
      ? {}
      : { subAgents: this.subAgents.map((subAgent) => subAgent.clone()) };
    const Kind = this.constructor as new (config: object) => this;
    return new Kind({ ...inherited, ...subAgents, ...overrides });
  }

  /**
   * Runs this agent from within the `runAsyncImpl` of an agent above it: gives the events of a run that has finished; of one
   * that has not it never returns. Semantics: `BaseAgent.runAsync` of `@google/adk` 2.0.0.
   *
   * @throws Error outside of a `runAsyncImpl`: agents are run by `Runner` or `HoldfastClient`.
   */
  async *runAsync(parentContext: InvocationContext): AsyncGenerator<Event, void, void> {
    const init = isInvocationContext(parentContext) ? InvocationContext.initOf(parentContext) : undefined;
    if (init?.runSubAgent === undefined) throw notRunHere(this.name);
    yield* init.runSubAgent(this, parentContext);
  }

  /**
   * Checks the agent as it is now, as its constructor does.
   *
   * @returns the values that a worker runs, by field.
   * @throws DefinitionError
   */
  [CHECKED_NOW](): object {
    const owner = agentOwner(this.constructor.name || 'BaseAgent', this.name);
    const { name, description, beforeAgentCallback: before, afterAgentCallback: after } = this;
    const subAgents = checkedSubAgents(owner, this, this.subAgents);
    for (const subAgent of subAgents) subAgent.parentAgent = this;
    return {
      ...{ name, description, subAgents },
      beforeAgentCallback: callbackList(owner, 'beforeAgentCallback', before),
      afterAgentCallback: callbackList(owner, 'afterAgentCallback', after),
    };
  }

  /** Runs sub-agents and yields events of the agent itself. Only ported agents have one. */
  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void>;

  /** ADK's live runs: this release never calls it. */
  protected runLiveImpl(_context: InvocationContext): AsyncGenerator<Event, void, void> {
    throw new Error(`agent "${this.name}": live runs are not supported by this release`);
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

/** The `runAsyncImpl` of an agent that the workflow runs itself. Nothing calls it. */
export function runByWorkflow({ name }: BaseAgent): never {
  throw notRunHere(name);
}

/**
 * Checks an agent of such a kind.
 *
 * @throws DefinitionError for a subclass with a `runAsyncImpl` of its own.
 */
export function assertNotScripted(owner: string, agent: BaseAgent, kind: { prototype: BaseAgent }): void {
  if (implOf(agent) === implOf(kind.prototype)) return;
  throw new DefinitionError({
    owner,
    field: 'runAsyncImpl',
    problem: 'would never be called: extend BaseAgent, and have this agent as one of its sub-agents',
  });
}

/** Events of a ported agent, run from its start. The context says how its sub-agents run. */
export function runOfImpl(agent: BaseAgent, context: InvocationContext): AsyncGenerator<Event, void, void> {
  return implOf(agent)?.call(agent, context) ?? runByWorkflow(agent);
}

type Impl = (this: BaseAgent, context: InvocationContext) => AsyncGenerator<Event, void, void>;

function implOf(agent: BaseAgent): Impl | undefined {
  return (agent as unknown as { runAsyncImpl?: Impl }).runAsyncImpl;
}

/** Programs in JavaScript aren't told by the compiler. */
function assertRunnable(owner: string, agent: BaseAgent): void {
  if (typeof implOf(agent) === 'function') return;
  throw new DefinitionError({
    owner,
    field: 'runAsyncImpl',
    problem: 'required of a class that extends BaseAgent: what the agent does',
  });
}

function notRunHere(name: string): Error {
  return new Error(
    `agent "${name}" is not run by hand: only the runAsyncImpl of an agent above it runs it, with the context that it was ` +
      'given; start turns with Runner or HoldfastClient, in tests by createTestEnvironment',
  );
}

/** @throws DefinitionError */
function checkedSubAgents(owner: string, parent: BaseAgent, given: unknown = []): BaseAgent[] {
  const fail = (field: string, problem: string): never => {
    throw new DefinitionError({ owner, field, problem });
  };
  if (!Array.isArray(given)) return fail('subAgents', `expected a list of agents, got ${kindOf(given)}`);
  const taken = new Set([parent.name]);
  // By index, because an array may have holes.
  const subAgents = Array.from({ length: given.length }, (_, index): BaseAgent => {
    const subAgent: unknown = given[index];
    const problem = subAgentProblem(subAgent, parent, taken);
    return problem === undefined ? (subAgent as BaseAgent) : fail(`subAgents[${index}]`, problem);
  });
  const depth = 1 + Math.max(0, ...subAgents.map(depthOf));
  if (depth > DEEPEST) fail('subAgents', `the tree is ${depth} agents deep, and at most ${DEEPEST} may be`);
  return subAgents;
}

function depthOf({ subAgents }: BaseAgent): number {
  return 1 + Math.max(0, ...subAgents.map(depthOf));
}

function subAgentProblem(subAgent: unknown, parent: BaseAgent, taken: Set<string>): string | undefined {
  if (!isBaseAgent(subAgent)) return whatItIs(subAgent);
  if (subAgent.parentAgent !== undefined && subAgent.parentAgent !== parent) {
    return (
      `Agent "${subAgent.name}" already has a parent agent, current parent: "${subAgent.parentAgent.name}", ` +
      `trying to add: "${parent.name}"`
    );
  }
  for (const member of namesIn(subAgent)) {
    if (taken.has(member)) return `duplicate agent name "${member}": names are unique within a tree`;
    taken.add(member);
  }
  return undefined;
}

const ADK_AGENT = Symbol.for('google.adk.baseAgent');

/** Describes, for messages, a value that stands in the place of an agent. */
export function whatItIs(value: unknown): string {
  if (typeof value === 'object' && value !== null && ADK_AGENT in value) {
    return `an agent of @google/adk; import its class from 'holdfast' instead`;
  }
  return `expected an agent, got ${kindOf(value)}`;
}

/** Why an agent can't stand where turns begin; undefined where it can. */
export function notARoot({ name, parentAgent, rootAgent }: BaseAgent): string | undefined {
  if (parentAgent === undefined) return undefined;
  return `agent "${name}" is a sub-agent of "${parentAgent.name}": name the root of its tree, "${rootAgent.name}"`;
}

function namesIn(agent: BaseAgent): string[] {
  return [agent.name, ...agent.subAgents.flatMap(namesIn)];
}
