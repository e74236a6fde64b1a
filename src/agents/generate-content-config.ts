import type { BasePlanner } from '../planners/base-planner.ts';
import { isBuiltInPlanner } from '../planners/built-in-planner.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';

/** Fields that the agent or Holdfast itself sets, and what to do instead; ADK's texts where it has one. */
const REFUSED: Readonly<Record<string, string>> = {
  tools: 'All tools must be set via LlmAgent.tools.',
  systemInstruction: 'System instruction must be set via LlmAgent.instruction.',
  responseSchema: 'Response schema must be set via LlmAgent.outputSchema.',
  responseJsonSchema: 'Response schema must be set via LlmAgent.outputSchema.',
  abortSignal: 'Holdfast cancels model calls by itself.',
  automaticFunctionCalling: 'Holdfast runs function calls by itself.',
};

/** @throws DefinitionError */
export function assertGenerateContentConfig(
  owner: string,
  config: unknown,
  planner: BasePlanner | undefined,
): void {
  if (config === undefined) return;
  const field = 'generateContentConfig';
  if (!isRecord(config)) {
    throw new DefinitionError({ owner, field, problem: `expected an object, got ${kindOf(config)}` });
  }
  for (const [name, problem] of Object.entries(REFUSED)) {
    if (config[name] !== undefined) throw new DefinitionError({ owner, field: `${field}.${name}`, problem });
  }
  if (config.thinkingConfig !== undefined && isBuiltInPlanner(planner)) {
    // As adk-python: a warning, because programs have both.
    process.emitWarning(`${owner}: ${field}.thinkingConfig has no effect: that of the planner wins`);
  }
}
