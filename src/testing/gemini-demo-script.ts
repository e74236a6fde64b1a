import type { FunctionDeclaration } from '@google/genai';
import { calls, type GeminiReplyLike, text } from './gemini-reply.ts';
import type { GeminiRequest } from './gemini-request.ts';
import type { GeminiScriptInfo } from './gemini-script.ts';

type Schema = Record<string, unknown>;

/**
 * Answers of the mock server to agents whose file brings no script: it calls the first tool once with made-up arguments, and then
 * tells its result, or an answer that fits the schema. Enough to see a turn of any agent without a key.
 */
export function demoScript(
  { tools, generationConfig }: GeminiRequest,
  { userText, functionResponses }: GeminiScriptInfo,
): GeminiReplyLike {
  const { responseJsonSchema, responseSchema } = generationConfig ?? {};
  const answer = responseJsonSchema ?? responseSchema;
  if (answer !== undefined) return text(JSON.stringify(madeUp(answer)));
  if (functionResponses.length > 0) {
    const answers = functionResponses.map(
      ({ name, response }) => `${name} answered ${JSON.stringify(response)}`,
    );
    return text(`(scripted answer) ${answers.join('; ')}`);
  }
  const declaration = (tools ?? []).flatMap(declarationsOf)[0];
  if (declaration?.name === undefined) return text(`(scripted answer) You said: ${userText}`);
  const schema = declaration.parametersJsonSchema ?? declaration.parameters ?? {};
  return calls([{ name: declaration.name, args: madeUp(schema) as Record<string, unknown> }]);
}

function declarationsOf(tool: object): FunctionDeclaration[] {
  return 'functionDeclarations' in tool && Array.isArray(tool.functionDeclarations)
    ? tool.functionDeclarations
    : [];
}

/** The plainest value that a JSON schema, or the provider's own kind of schema, takes. */
function madeUp(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return 'example';
  const { default: preset, example, examples, enum: choices, const: only, anyOf, type } = schema as Schema;
  if (preset !== undefined) return preset;
  if (example !== undefined) return example;
  if (only !== undefined) return only;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (Array.isArray(choices) && choices.length > 0) return choices[0];
  if (Array.isArray(anyOf) && anyOf.length > 0) return madeUp(anyOf[0]);
  const { properties, required, items, minimum, minItems, minLength } = schema as Schema;
  switch (
    String(Array.isArray(type) ? type[0] : (type ?? (properties ? 'object' : 'string'))).toLowerCase()
  ) {
    case 'object':
      return Object.fromEntries(
        Object.entries((properties ?? {}) as Record<string, unknown>)
          .filter(([name]) => Array.isArray(required) && required.includes(name))
          .map(([name, property]) => [name, madeUp(property)]),
      );
    case 'array':
      return Array.from({ length: Number(minItems ?? 0) }, () => madeUp(items));
    case 'integer':
    case 'number':
      return typeof minimum === 'number' ? minimum : 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 'example'.padEnd(Number(minLength ?? 0), '.');
  }
}
