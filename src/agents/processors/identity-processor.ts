import { appendInstructions } from '../../models/llm-request.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';
import { asksModel } from '../llm-agent-view.ts';
import { DirectProcessor } from './direct-processor.ts';

/**
 * Tells the model the agent's name and description, unless no agent can transfer to or from it. Semantics and texts:
 * `IdentityLlmRequestProcessor` of `@google/adk` 2.0.0.
 */
export class IdentityLlmRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (agent === undefined) return;
    const { name, description, subAgents } = agent;
    const isAlone = asksModel(agent) && agent.disallowTransferToParent && agent.disallowTransferToPeers;
    if (isAlone && subAgents.length === 0) return;
    appendInstructions(llmRequest, [
      `You are an agent. Your internal name is "${name}".`,
      ...(description === '' ? [] : [`The description about you is "${description}"`]),
    ]);
  }
}

export const IDENTITY_LLM_REQUEST_PROCESSOR = new IdentityLlmRequestProcessor();
