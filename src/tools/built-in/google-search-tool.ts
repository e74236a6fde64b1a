import type { ToolProcessLlmRequest } from '../base-tool.ts';
import { isGemini1Model, isGeminiModel, unfitModel } from './gemini-model-name.ts';
import { NativeTool } from './native-tool.ts';

/**
 * Google Search, which Gemini runs by itself. Semantics: `GoogleSearchTool` of `@google/adk` 2.0.0.
 *
 * @example new LlmAgent({ name: 'researcher', model: 'gemini-2.5-flash', tools: [GOOGLE_SEARCH] })
 */
export class GoogleSearchTool extends NativeTool {
  constructor() {
    super({ name: 'google_search', description: 'Google Search Tool' });
  }

  /** @throws DefinitionError where the model has no search, or none beside other tools. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (isGemini1Model(model)) {
      if (this.hasOtherTools(llmRequest)) {
        throw unfitModel(this.name, 'Google search tool can not be used with other tools in Gemini 1.x.');
      }
      this.addTo(llmRequest, { googleSearchRetrieval: {} });
      return;
    }
    if (!isGeminiModel(model)) {
      throw unfitModel(this.name, `Google search tool is not supported for model ${model}`);
    }
    this.addTo(llmRequest, { googleSearch: {} });
  }
}

export const GOOGLE_SEARCH = new GoogleSearchTool();
