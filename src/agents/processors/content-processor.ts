import { thawRequest } from '../../models/thaw-request.ts';
import { defined } from '../../protocol/defined.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';
import { asksModel } from '../llm-agent-view.ts';
import { DirectProcessor } from './direct-processor.ts';
import { insertInstructionContents } from './instruction-contents.ts';

/**
 * Sets the contents: the transcript as the agent sees it, by its `includeContents`. They are frozen and shared with later
 * requests until user code gets to see them; the array is the request's own. Semantics: `ContentRequestProcessor` of
 * `@google/adk` 2.0.0.
 */
export class ContentRequestProcessor extends DirectProcessor {
  override process(invocationContext: InvocationContext, llmRequest: LlmRequest): void {
    const { agent, branch } = invocationContext;
    if (!asksModel(agent)) return;
    llmRequest.contents = invocationContext.contents({
      agent: agent.name,
      ...defined({ branch }),
      include: agent.includeContents,
    });
    insertInstructionContents(llmRequest);
    // A class that extends this one may edit them.
    if (this.constructor !== ContentRequestProcessor) thawRequest(llmRequest);
  }
}

export const CONTENT_REQUEST_PROCESSOR = new ContentRequestProcessor();
