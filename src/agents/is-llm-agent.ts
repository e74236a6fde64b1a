import type { LlmAgent } from './llm-agent.ts';

export const LLM_AGENT = Symbol.for('holdfast.llmAgent');

/** Whether `value` is an {@link LlmAgent}, of this or of another copy of the package. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return typeof value === 'object' && value !== null && LLM_AGENT in value && value[LLM_AGENT] === true;
}
