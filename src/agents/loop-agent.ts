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
    const owner = agentOwner(new.target.name || 'LoopAgent', config.name);
    assertNotScripted(owner, this, LoopAgent);
    assertWorkflowAgentFields(owner, config, ['maxIterations']);
    assertHasSubAgents(owner, this);
    const read = new OptionReader(owner, config);
    if (read.given('maxIterations')) this.maxIterations = read.count('maxIterations', 1);
  }

  protected override runAsyncImpl(): AsyncGenerator<Event, void, void> {
    return runByWorkflow(this);
  }
}

/** Whether `value` is a {@link LoopAgent}, of this or of another copy of the package. */
export function isLoopAgent(value: unknown): value is LoopAgent {
  return typeof value === 'object' && value !== null && LOOP_AGENT in value && value[LOOP_AGENT] === true;
}
