import { takesSchemaWithTools } from '../../models/gemini-generation.ts';
import { copyPlain } from '../../schema/copy-plain.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';
import { asksModel } from '../llm-agent-view.ts';
import { DirectProcessor } from './direct-processor.ts';
import { hasTools } from './request-site.ts';

/**
 * Sets the model, the agent's settings, and its `outputSchema` where the model takes one beside the agent's tools. Semantics:
 * `BasicLlmRequestProcessor` of `@google/adk` 2.0.0, but the schema is sent as JSON Schema.
 */
export class BasicLlmRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (!asksModel(agent)) return;
    const model = agent.canonicalModel;
    llmRequest.model = model.model;
    llmRequest.config = copyPlain({ ...agent.generateContentConfig });
    const { outputJsonSchema } = agent;
    if (outputJsonSchema === undefined) return;
    if (hasTools(agent, llmRequest) && !takesSchemaWithTools(model)) return;
    llmRequest.config.responseJsonSchema = outputJsonSchema;
    llmRequest.config.responseMimeType = 'application/json';
  }
}

export const BASIC_LLM_REQUEST_PROCESSOR = new BasicLlmRequestProcessor();
