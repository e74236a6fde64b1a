import type { LlmRequest } from '../../tools/base-tool.ts';
import { Context } from '../../tools/context.ts';
import { InvocationContext } from '../../tools/invocation-context.ts';
import { asksModel } from '../llm-agent-view.ts';
import { DirectProcessor } from './direct-processor.ts';
import { siteOf } from './request-site.ts';

/**
 * Lets plugins choose among the tools of the request. Semantics: `ToolFilterRequestProcessor` of `@google/adk` 2.0.0; what the
 * invocation has added is among the tools.
 */
export class ToolFilterRequestProcessor extends DirectProcessor {
  override process(invocationContext: InvocationContext, llmRequest: LlmRequest): void | Promise<void> {
    const chooseTools = siteOf(llmRequest)?.chooseTools;
    if (!asksModel(invocationContext.agent) || chooseTools === undefined) return;
    const tools = Object.fromEntries((llmRequest.tools?.list() ?? []).map((tool) => [tool.name, tool]));
    if (Object.keys(tools).length === 0) return;
    const init = InvocationContext.initOf(invocationContext);
    const callbackContext = new Context({ ...init, invocation: invocationContext });
    return chooseTools({ callbackContext, tools }).then((chosen) => {
      if (chosen !== undefined) llmRequest.allowedTools = Object.keys(chosen);
    });
  }
}

export const TOOL_FILTER_REQUEST_PROCESSOR = new ToolFilterRequestProcessor();
