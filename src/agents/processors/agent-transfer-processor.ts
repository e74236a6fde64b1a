import { appendInstructions, appendTools } from '../../models/llm-request.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import { isBaseTool } from '../../tools/base-tool.ts';
import type { AgentView, InvocationContext } from '../../tools/invocation-context.ts';
import { asksModel } from '../llm-agent-view.ts';
import { transferTargets } from '../transfer/transfer-targets.ts';
import { transferToAgentTool } from '../transfer/transfer-to-agent-tool.ts';
import { DirectProcessor } from './direct-processor.ts';

/**
 * Tells the model to which agents it can transfer the turn, and offers it `transfer_to_agent`. Every `LlmAgent` ends its list of
 * processors with it, unless it has no sub-agents and transfers neither to its parent nor to its peers. Semantics and texts:
 * `AgentTransferLlmRequestProcessor` of `@google/adk` 2.0.0; a parent to which it can't transfer isn't named.
 */
export class AgentTransferLlmRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (!asksModel(agent)) return;
    const targets = transferTargets(agent);
    if (targets.length === 0) return;
    appendInstructions(llmRequest, [instructionsFor(agent, targets)]);
    const { name } = transferToAgentTool;
    // One that the agent has itself is offered with its tools.
    if (agent.tools.some((tool) => isBaseTool(tool) && tool.name === name)) return;
    appendTools(llmRequest, [transferToAgentTool]);
  }
}

export const AGENT_TRANSFER_LLM_REQUEST_PROCESSOR = new AgentTransferLlmRequestProcessor();

function instructionsFor({ parentAgent }: AgentView, targets: readonly AgentView[]): string {
  const general = `
You have a list of other agents to transfer to:

${targets.map(aboutTarget).join('\n')}

If you are the best to answer the question according to your description, you
can answer it.

If another agent is better for answering the question according to its
description, call \`${transferToAgentTool.name}\` function to transfer the
question to that agent. When transferring, do not generate any text other than
the function call.
`;
  if (parentAgent === undefined || !targets.includes(parentAgent)) return general;
  return `${general}
Your parent agent is ${parentAgent.name}. If neither the other agents nor
you are best for answering the question according to the descriptions, transfer
to your parent agent.
`;
}

function aboutTarget({ name, description }: AgentView): string {
  return `
Agent name: ${name}
Agent description: ${description}
`;
}
