import type { Event } from '../events/event.ts';
import {
  agentOwner,
  assertNotScripted,
  BaseAgent,
  type BaseAgentConfig,
  runByWorkflow,
} from './base-agent.ts';
import { assertHasSubAgents, assertWorkflowAgentFields } from './workflow-agent-parts.ts';

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
    const owner = agentOwner(new.target.name || 'SequentialAgent', config.name);
    assertNotScripted(owner, this, SequentialAgent);
    assertWorkflowAgentFields(owner, config);
    assertHasSubAgents(owner, this);
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
