import type { ToolProcessLlmRequest } from '../base-tool.ts';
import { isGemini2OrAbove, isGeminiModel, unfitModel } from './gemini-model-name.ts';
import { NativeTool } from './native-tool.ts';

/** Reading of web pages, which Gemini does by itself. Semantics: `UrlContextTool` of `@google/adk` 2.0.0. */
export class UrlContextTool extends NativeTool {
  constructor() {
    super({ name: 'url_context', description: 'URL Context Tool' });
  }

  /** @throws DefinitionError where the model has it not. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (!isGeminiModel(model)) {
      throw unfitModel(this.name, `URL context tool is not supported for model ${model}`);
    }
    if (!isGemini2OrAbove(model)) {
      throw unfitModel(this.name, `URL context tool requires Gemini 2 or above, but got ${model}`);
    }
    this.addTo(llmRequest, { urlContext: {} });
  }
}

export const URL_CONTEXT = new UrlContextTool();
