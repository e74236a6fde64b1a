import type { ToolProcessLlmRequest } from '../base-tool.ts';
import { isGemini2OrAbove, unfitModel } from './gemini-model-name.ts';
import { NativeTool } from './native-tool.ts';

/**
 * Code that Gemini writes and runs by itself, as a tool beside others. What `BuiltInCodeExecutor` of `@google/adk` 2.0.0 adds
 * to a request, for agents whose `codeExecutor` is another one or none.
 */
export class CodeExecutionTool extends NativeTool {
  constructor() {
    super({ name: 'code_execution', description: 'Code Execution Tool' });
  }

  /** @throws DefinitionError where the model has it not. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (!isGemini2OrAbove(model)) {
      throw unfitModel(this.name, `Gemini code execution tool is not supported for model ${model}`);
    }
    this.addTo(llmRequest, { codeExecution: {} });
  }
}

export const CODE_EXECUTION = new CodeExecutionTool();
