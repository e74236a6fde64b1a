import type { ToolProcessLlmRequest } from '../base-tool.ts';
import { isGemini1Model, isGeminiModel, unfitModel } from './gemini-model-name.ts';
import { NativeTool } from './native-tool.ts';

/** Web search for enterprises, which Gemini runs by itself. Semantics: `EnterpriseWebSearchTool` of `@google/adk` 2.0.0. */
export class EnterpriseWebSearchTool extends NativeTool {
  constructor() {
    super({ name: 'enterprise_web_search', description: 'Enterprise Web Search Tool' });
  }

  /** @throws DefinitionError where the model has it not, or not beside other tools. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (!isGeminiModel(model)) {
      throw unfitModel(this.name, `Enterprise Web Search tool is not supported for model ${model}`);
    }
    if (isGemini1Model(model) && this.hasOtherTools(llmRequest)) {
      throw unfitModel(
        this.name,
        'Enterprise Web Search tool cannot be used with other tools in Gemini 1.x.',
      );
    }
    this.addTo(llmRequest, { enterpriseWebSearch: {} });
  }
}

export const ENTERPRISE_WEB_SEARCH = new EnterpriseWebSearchTool();
