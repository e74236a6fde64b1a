import type { Event } from '../events/event.ts';
import { OptionReader } from '../schema/option-reader.ts';
import {
  agentOwner,
  assertNotScripted,
  BaseAgent,
  type BaseAgentConfig,
  runByWorkflow,
} from './base-agent.ts';
import { assertHasSubAgents, assertWorkflowAgentFields } from './workflow-agent-parts.ts';

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
    const owner = agentOwner(new.target.name || 'ParallelAgent', config.name);
    assertNotScripted(owner, this, ParallelAgent);
    assertWorkflowAgentFields(owner, config, ['continueOnError', 'maxParallel']);
    assertHasSubAgents(owner, this);
    const read = new OptionReader(owner, config);
    if (this.subAgents.length > MOST_SUB_AGENTS) {
      read.fail('subAgents', `expected at most ${MOST_SUB_AGENTS} agents, got ${this.subAgents.length}`);
    }
    this.continueOnError = read.boolean('continueOnError', false);
    this.maxParallel = read.count('maxParallel', 32);
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
