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

/** Names the fields of the configuration that the agent's constructor takes. */
export const CONFIG_FIELDS = Symbol.for('holdfast.configFields');

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

export const BASE_AGENT_FIELDS: readonly string[] = [
  'name',
  'description',
  'subAgents',
  'stateSchema',
  'beforeAgentCallback',
  'afterAgentCallback',
] satisfies (keyof BaseAgentConfig)[];

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
  /** As it was given. */
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
    if ((config as { parentAgent?: unknown }).parentAgent !== undefined) {
      const problem = 'is set by the agent that lists this one in its subAgents; leave it out';
      throw new DefinitionError({ owner, field: 'parentAgent', problem });
    }
    assertRunnable(owner, this);
    this.config = Object.freeze({ ...config }) as TConfig;
    this.name = config.name;
    const checked = checkedFields(this, { subAgents: [], ...config });
    this.description = checked.description;
    if (checked.stateSchema !== undefined) this.stateSchema = checked.stateSchema;
    this.beforeAgentCallback = checked.beforeAgentCallback;
    this.afterAgentCallback = checked.afterAgentCallback;
    this.subAgents = checked.subAgents;
    for (const subAgent of this.subAgents) subAgent.parentAgent = this;
  }

  get [CONFIG_FIELDS](): readonly string[] {
    return BASE_AGENT_FIELDS;
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
   * Another agent of the same class, with the fields as they are now, without a parent. Its sub-agents are clones too, unless `overrides`
   * brings others. Made by the class's constructor, which gets one configuration object; options that only a subclass knows are in it as they
   * were given. Semantics: `BaseAgent.clone` of `@google/adk` 2.0.0, which leaves out what was changed since the agent was made.
   *
   * @throws DefinitionError for values that the constructor refuses, and for `parentAgent`.
   * @example const formal = greeter.clone({ name: 'formal_greeter', instruction: 'Greet formally.' });
   */
  clone(overrides: Partial<TConfig> = {}): this {
    if (Object.hasOwn(overrides, 'parentAgent')) {
      throw new DefinitionError({
        owner: ownerOf(this),
        field: 'parentAgent',
        problem:
          'Cannot update `parentAgent` field in clone. Parent agent is set only when the parent agent is instantiated ' +
          'with the sub-agents.',
      });
    }
    const config = { ...configNow(this, this.config, this[CONFIG_FIELDS]), ...overrides };
    if (Object.hasOwn(config, 'subAgents') && !Object.hasOwn(overrides, 'subAgents')) {
      config.subAgents = checkedSubAgents(this, this.subAgents).map((subAgent) => subAgent.clone());
    }
    const Kind = this.constructor as new (config: object) => this;
    return new Kind(config);
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
    const { name, parentAgent } = this;
    assertAgentName(this.constructor.name, name);
    const checked = checkedFields(this, this);
    for (const subAgent of checked.subAgents) subAgent.parentAgent ??= this;
    return { name, parentAgent, ...checked };
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

/** {@link agentOwner} of an agent that has its name. */
export function ownerOf(agent: AgentView): string {
  return agentOwner(agent.constructor.name || 'BaseAgent', agent.name);
}

/** The configuration of an agent, with those of the fields that the agent has as they are now. */
export function configNow<TConfig extends object>(
  agent: BaseAgent,
  given: TConfig,
  fields: readonly string[],
): TConfig {
  const config = { ...given } as Record<string, unknown>;
  for (const field of fields) {
    if (!Object.hasOwn(agent, field)) continue;
    const value: unknown = Reflect.get(agent, field);
    if (value === undefined) delete config[field];
    else config[field] = Array.isArray(value) ? [...value] : value;
  }
  return config as TConfig;
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
function checkedFields(
  agent: BaseAgent,
  fields: Pick<BaseAgentConfig, Exclude<keyof BaseAgentConfig, 'name'>>,
): Required<Omit<BaseAgentConfig, 'name' | 'stateSchema' | `${string}Callback`>> &
  Pick<BaseAgent, 'stateSchema' | 'beforeAgentCallback' | 'afterAgentCallback'> {
  const owner = ownerOf(agent);
  const { description = '', stateSchema, beforeAgentCallback: before, afterAgentCallback: after } = fields;
  if (typeof description !== 'string') {
    const problem = `expected a string, got ${kindOf(description)}`;
    throw new DefinitionError({ owner, field: 'description', problem });
  }
  if (stateSchema !== undefined) readStateSchema(owner, stateSchema);
  return {
    ...{ description, ...(stateSchema !== undefined && { stateSchema }) },
    beforeAgentCallback: callbackList(owner, 'beforeAgentCallback', before),
    afterAgentCallback: callbackList(owner, 'afterAgentCallback', after),
    subAgents: checkedSubAgents(agent, fields.subAgents),
  };
}

/** @throws DefinitionError of the agent in the tree that has the wrong list. */
function checkedSubAgents(top: BaseAgent, given: unknown): BaseAgent[] {
  const names = new Set([top.name]);
  const checked = (parent: BaseAgent, list: unknown, depth: number): BaseAgent[] => {
    const fail = (field: string, problem: string): never => {
      throw new DefinitionError({ owner: ownerOf(parent), field, problem });
    };
    if (!Array.isArray(list)) return fail('subAgents', `expected a list of agents, got ${kindOf(list)}`);
    if (depth === DEEPEST && list.length > 0) {
      fail('subAgents', `at most ${DEEPEST} agents may be below one another, "${top.name}" the first`);
    }
    // By index, because an array may have holes.
    return Array.from({ length: list.length }, (_, index): BaseAgent => {
      const subAgent: unknown = list[index];
      const field = `subAgents[${index}]`;
      if (!isBaseAgent(subAgent)) return fail(field, whatItIs(subAgent));
      const { name, parentAgent } = subAgent;
      if (parentAgent !== undefined && parentAgent !== parent) {
        const parents = `current parent: "${parentAgent.name}", trying to add: "${parent.name}"`;
        fail(field, `Agent "${name}" already has a parent agent, ${parents}`);
      }
      if (names.has(name)) fail(field, `duplicate agent name "${name}": names are unique within a tree`);
      names.add(name);
      checked(subAgent, subAgent.subAgents, depth + 1);
      return subAgent;
    });
  };
  return checked(top, given, 1);
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
