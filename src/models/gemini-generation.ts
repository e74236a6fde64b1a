import { variable } from '../environment.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { BaseLlm } from './base-llm.ts';

const VERTEX_RESOURCE = /^projects\/[^/]+\/locations\/[^/]+\/publishers\/[^/]+\/models\/(.+)$/;
const VERSION = /^gemini-(\d+)(\.\d+)*(-|$)/;

/** Semantics: `isGemini2OrAbove` of `@google/adk` 2.0.0, for which names without a version (`gemini-flash-latest`) are not. */
export function isGemini2OrAbove(model: string | undefined): boolean {
  if (model === undefined) return false;
  return Number(VERSION.exec(nameIn(model))?.[1] ?? 0) >= 2;
}

/**
 * Whether a model takes a response schema beside tools: Gemini 2 or later on Vertex AI does. Semantics:
 * `canUseOutputSchemaWithTools` of `@google/adk` 2.0.0, but of the model itself and not of the environment alone.
 */
export function takesSchemaWithTools(model: BaseLlm): boolean {
  return 'vertexai' in model && model.vertexai === true && isGemini2OrAbove(model.model);
}

/** Semantics: those of `@google/adk` 2.0.0. */
export function isGeminiModel(model: string): boolean {
  return nameIn(model).startsWith('gemini-');
}

/** Whether a model may be one of Gemini: any may that has another name, if the variable of `@google/adk` 2.0.0 says so. */
export function mayBeGemini(model: string): boolean {
  const isUnchecked = variable('ADK_DISABLE_GEMINI_MODEL_ID_CHECK') ?? '';
  return isGeminiModel(model) || ['true', '1'].includes(isUnchecked.toLowerCase());
}

export function isGemini1Model(model: string): boolean {
  return nameIn(model).startsWith('gemini-1');
}

/** A tool of Gemini that the agent's model can't be sent. */
export function unfitModel(tool: string, problem: string): DefinitionError {
  return new DefinitionError({ owner: `tool "${tool}"`, problem });
}

function nameIn(model: string): string {
  return VERTEX_RESOURCE.exec(model)?.[1] ?? model;
}
