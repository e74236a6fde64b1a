import { isBuiltInCodeExecutor } from '../../code-executors/built-in-code-executor.ts';
import { codeAsText } from '../../code-executors/code-parts.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';
import { asksModel } from '../llm-agent-view.ts';
import { DirectProcessor } from './direct-processor.ts';

/**
 * Lets the provider run code, or sends code that ran here, and its results, as text. Semantics:
 * `CodeExecutionRequestProcessor` of `@google/adk` 2.0.0.
 */
export class CodeExecutionRequestProcessor extends DirectProcessor {
  override process({ agent }: InvocationContext, llmRequest: LlmRequest): void {
    if (!asksModel(agent) || agent.codeExecutor === undefined) return;
    const { codeExecutor } = agent;
    if (isBuiltInCodeExecutor(codeExecutor)) {
      codeExecutor.processLlmRequest(llmRequest);
      return;
    }
    llmRequest.contents = llmRequest.contents.map((content) => codeAsText(codeExecutor, content));
  }
}

export const CODE_EXECUTION_REQUEST_PROCESSOR = new CodeExecutionRequestProcessor();
