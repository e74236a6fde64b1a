import { DefinitionError } from '../../schema/definition-error.ts';

const RESOURCE = /^projects\/[^/]+\/locations\/[^/]+\/publishers\/[^/]+\/models\/(.+)$/;

/** Rules and texts: those of `@google/adk` 2.0.0. */
export function isGeminiModel(model: string): boolean {
  return nameIn(model).startsWith('gemini-');
}

export function isGemini1Model(model: string): boolean {
  return nameIn(model).startsWith('gemini-1');
}

export function isGemini2OrAbove(model: string): boolean {
  const [, version] = /^gemini-([^-]*)/.exec(nameIn(model)) ?? [];
  return version !== undefined && /^\d+(\.\d+)*$/.test(version) && Number.parseInt(version, 10) >= 2;
}

/** A tool of Gemini that the agent's model can't be sent. */
export function unfitModel(tool: string, problem: string): DefinitionError {
  return new DefinitionError({ owner: `tool "${tool}"`, problem });
}

function nameIn(model: string): string {
  return RESOURCE.exec(model)?.[1] ?? model;
}
