import type { LlmRequest } from '../../models/llm-request.ts';
import { Context } from '../../tools/context.ts';
import { InvocationContext } from '../../tools/invocation-context.ts';
import { isLlmAgent } from '../is-llm-agent.ts';
import { DirectProcessor } from './direct-processor.ts';
import { siteOf } from './request-site.ts';

/**
 * Lets plugins choose among the tools of the request. Semantics: `ToolFilterRequestProcessor` of `@google/adk` 2.0.0; what the
 * invocation has added is among the tools.
 */
export class ToolFilterRequestProcessor extends DirectProcessor {
  override process(invocationContext: InvocationContext, llmRequest: LlmRequest): void | Promise<void> {
    const site = siteOf(llmRequest);
    if (!isLlmAgent(invocationContext.agent) || !site?.plugins.has('beforeToolSelection')) return;
    const tools = Object.fromEntries((llmRequest.tools?.list() ?? []).map((tool) => [tool.name, tool]));
    if (Object.keys(tools).length === 0) return;
    const init = InvocationContext.initOf(invocationContext);
    const callbackContext = new Context({ ...init, invocation: invocationContext });
    return site.plugins.run('beforeToolSelection', { callbackContext, tools }).then((chosen) => {
      if (chosen !== undefined) llmRequest.allowedTools = Object.keys(chosen);
    });
  }
}

export const TOOL_FILTER_REQUEST_PROCESSOR = new ToolFilterRequestProcessor();
