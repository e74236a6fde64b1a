import type { BaseLlm } from './base-llm.ts';

const VERTEX_RESOURCE = /^projects\/[^/]+\/locations\/[^/]+\/publishers\/[^/]+\/models\/(.+)$/;
const VERSION = /^gemini-(\d+)(\.\d+)*(-|$)/;

/** Semantics: `isGemini2OrAbove` of `@google/adk` 2.0.0, for which names without a version (`gemini-flash-latest`) are not. */
export function isGemini2OrAbove(model: string | undefined): boolean {
  if (model === undefined) return false;
  const name = VERTEX_RESOURCE.exec(model)?.[1] ?? model;
  return Number(VERSION.exec(name)?.[1] ?? 0) >= 2;
}

/**
 * Whether a model takes a response schema beside tools: Gemini 2 or later on Vertex AI does. Semantics:
 * `canUseOutputSchemaWithTools` of `@google/adk` 2.0.0, but of the model itself and not of the environment alone.
 */
export function takesSchemaWithTools(model: BaseLlm): boolean {
  return 'vertexai' in model && model.vertexai === true && isGemini2OrAbove(model.model);
}
