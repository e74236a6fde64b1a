import type { Event } from '../events/event.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import * as option from '../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, type Resolved, readFrom } from '../schema/options.ts';
import {
  assertNotScripted,
  BASE_AGENT_FIELDS,
  BaseAgent,
  type BaseAgentConfig,
  CHECKED_NOW,
  CONFIG_FIELDS,
  ownerOf,
  runByWorkflow,
} from './base-agent.ts';

/** Of `@google/adk` 2.0.0. */
const UNSUPPORTED = [
  'inputSchema',
  'outputSchema',
  'rerunOnResume',
  'waitForOutput',
  'retryConfig',
  'timeout',
  'isolationScope',
];

const SEQUENTIAL_AGENT = Symbol.for('holdfast.sequentialAgent');

/**
 * Runs its sub-agents one after another, in the session of its runner; each sees the words and writes of those before it. Its
 * answer is their last one. If one fails, the rest isn't run. Semantics: `SequentialAgent` of `@google/adk` 2.0.0, each sub-agent a
 * child workflow.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example new SequentialAgent({ name: 'report', subAgents: [researcher, writer] })
 */
export class SequentialAgent extends BaseAgent {
  readonly [SEQUENTIAL_AGENT] = true;

  constructor(config: BaseAgentConfig) {
    super(config);
    const owner = ownerOf(this);
    assertNotScripted(owner, this, SequentialAgent);
    assertKnownFields(owner, config, this[CONFIG_FIELDS], { unsupported: UNSUPPORTED });
  }

  protected override runAsyncImpl(): AsyncGenerator<Event, void, void> {
    return runByWorkflow(this);
  }
}

/** Whether `value` is a {@link SequentialAgent}, of this or of another copy of the package. */
export function isSequentialAgent(value: unknown): value is SequentialAgent {
  return (
    typeof value === 'object' &&
    value !== null &&
    SEQUENTIAL_AGENT in value &&
    value[SEQUENTIAL_AGENT] === true
  );
}

const PARALLEL_AGENT = Symbol.for('holdfast.parallelAgent');

/** Temporal shows them as children of one workflow. */
export const MOST_SUB_AGENTS = 100;

/** Configuration of a {@link ParallelAgent}. Its own fields are ours. */
export interface ParallelAgentConfig extends BaseAgentConfig {
  /**
   * Whether the others go on when a sub-agent fails, and the parallel agent too. Otherwise they are cancelled, and it fails.
   *
   * @default false
   */
  continueOnError?: boolean;
  /**
   * How many sub-agents run at a time.
   *
   * @default 32
   */
  maxParallel?: number;
}

export const PARALLEL = {
  continueOnError: option.flag(false),
  maxParallel: option.count(32),
} satisfies OptionsFor<Omit<ParallelAgentConfig, keyof BaseAgentConfig>>;

/**
 * Runs its sub-agents at the same time, each on a branch of its own: no branch sees the others, and all write to the same state. At
 * most 100. Semantics: `ParallelAgent` of `@google/adk` 2.0.0, each sub-agent a child workflow.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example new ParallelAgent({ name: 'research', subAgents: [prices, reviews, news], continueOnError: true })
 */
export class ParallelAgent extends BaseAgent<ParallelAgentConfig> {
  readonly [PARALLEL_AGENT] = true;
  readonly continueOnError: boolean;
  readonly maxParallel: number;

  constructor(config: ParallelAgentConfig) {
    super(config);
    const owner = ownerOf(this);
    assertNotScripted(owner, this, ParallelAgent);
    assertKnownFields(owner, config, this[CONFIG_FIELDS], { unsupported: UNSUPPORTED });
    const { continueOnError, maxParallel } = this.#checked(config);
    this.continueOnError = continueOnError;
    this.maxParallel = maxParallel;
  }

  override get [CONFIG_FIELDS](): readonly string[] {
    return [...BASE_AGENT_FIELDS, ...namesOf(PARALLEL)];
  }

  override [CHECKED_NOW](): object {
    return { ...super[CHECKED_NOW](), ...this.#checked(this) };
  }

  #checked(options: object): Resolved<typeof PARALLEL> {
    const read = new OptionReader(ownerOf(this), options);
    if (this.subAgents.length > MOST_SUB_AGENTS) {
      read.fail('subAgents', `expected at most ${MOST_SUB_AGENTS} agents, got ${this.subAgents.length}`);
    }
    return readFrom(PARALLEL, read);
  }

  protected override runAsyncImpl(): AsyncGenerator<Event, void, void> {
    return runByWorkflow(this);
  }
}

/** Whether `value` is a {@link ParallelAgent}, of this or of another copy of the package. */
export function isParallelAgent(value: unknown): value is ParallelAgent {
  return (
    typeof value === 'object' && value !== null && PARALLEL_AGENT in value && value[PARALLEL_AGENT] === true
  );
}

const LOOP_AGENT = Symbol.for('holdfast.loopAgent');

/** Configuration of a {@link LoopAgent}. Fields: `LoopAgentConfig` of `@google/adk` 2.0.0. */
export interface LoopAgentConfig extends BaseAgentConfig {
  /**
   * How often all sub-agents are run, 1 or more.
   *
   * @default until one escalates
   */
  maxIterations?: number;
}

const LOOP = { maxIterations: option.count() } satisfies OptionsFor<
  Omit<LoopAgentConfig, keyof BaseAgentConfig>
>;

/**
 * Runs its sub-agents one after another, again and again, until one escalates (`exit_loop`, `actions.escalate`) or the
 * iterations are used up. An escalating sub-agent finishes, and the sub-agents after it aren't run any more. Semantics: `LoopAgent` of
 * `@google/adk` 2.0.0, each run of a sub-agent a child workflow; but escalating ends only the nearest loop.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example new LoopAgent({ name: 'revision', subAgents: [critic, writer], maxIterations: 5 })
 */
export class LoopAgent extends BaseAgent<LoopAgentConfig> {
  readonly [LOOP_AGENT] = true;
  /** Undefined: until one escalates. */
  readonly maxIterations?: number;

  constructor(config: LoopAgentConfig) {
    super(config);
    const owner = ownerOf(this);
    assertNotScripted(owner, this, LoopAgent);
    assertKnownFields(owner, config, this[CONFIG_FIELDS], { unsupported: UNSUPPORTED });
    Object.assign(this, this.#checked(config));
  }

  override get [CONFIG_FIELDS](): readonly string[] {
    return [...BASE_AGENT_FIELDS, ...namesOf(LOOP)];
  }

  override [CHECKED_NOW](): object {
    return { maxIterations: undefined, ...super[CHECKED_NOW](), ...this.#checked(this) };
  }

  #checked(options: object): Resolved<typeof LOOP> {
    const read = new OptionReader(ownerOf(this), options);
    if (!read.given('maxIterations') && this.subAgents.length > 0 && this.subAgents.every(doesNothing))
      read.fail('maxIterations', 'the sub-agents do nothing, so that the loop never ends: give a number');
    return readFrom(LOOP, read);
  }

  protected override runAsyncImpl(): AsyncGenerator<Event, void, void> {
    return runByWorkflow(this);
  }
}

function doesNothing(agent: BaseAgent): boolean {
  return (
    (isSequentialAgent(agent) || isParallelAgent(agent) || isLoopAgent(agent)) &&
    agent.subAgents.every(doesNothing)
  );
}

/** Whether `value` is a {@link LoopAgent}, of this or of another copy of the package. */
export function isLoopAgent(value: unknown): value is LoopAgent {
  return typeof value === 'object' && value !== null && LOOP_AGENT in value && value[LOOP_AGENT] === true;
}
