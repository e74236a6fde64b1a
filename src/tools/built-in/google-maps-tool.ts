import type { ToolProcessLlmRequest } from '../base-tool.ts';
import { isGemini1Model, isGeminiModel, unfitModel } from './gemini-model-name.ts';
import { NativeTool } from './native-tool.ts';

/** Google Maps, which Gemini asks by itself. Semantics: `GoogleMapsGroundingTool` of `@google/adk` 2.0.0. */
export class GoogleMapsGroundingTool extends NativeTool {
  constructor() {
    super({ name: 'google_maps', description: 'Google Maps Grounding Tool' });
  }

  /** @throws DefinitionError where the model has it not. */
  override async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const { model } = llmRequest;
    if (!model) return;
    if (isGemini1Model(model)) {
      throw unfitModel(this.name, 'Google Maps grounding tool cannot be used with Gemini 1.x models.');
    }
    if (!isGeminiModel(model)) {
      throw unfitModel(this.name, `Google maps tool is not supported for model ${model}`);
    }
    this.addTo(llmRequest, { googleMaps: {} });
  }
}

export const GOOGLE_MAPS_GROUNDING = new GoogleMapsGroundingTool();
