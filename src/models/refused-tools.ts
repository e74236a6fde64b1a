import type { GenerateContentConfig } from '@google/genai';
import type { ModelError } from './model-errors.ts';
import { withAdvice } from './refused-schema.ts';

const FLAG = /include_server_side_tool_invocations/i;
const MIXED = /tool use with function calling is unsupported|cannot be combined in the same request/i;
const JSON_ANSWER = /(tool use|function calling) with a response mime type/i;
const MOST_NAMES = 5;

/**
 * An error that names the tools, and says what to do, where Gemini has refused a request for what it offers together. Any other
 * error as it is.
 */
export function namingTools(error: ModelError, config: GenerateContentConfig | undefined): ModelError {
  if (error.kind !== 'bad_request') return error;
  const { builtIns, functions } = offered(config);
  if (FLAG.test(error.message)) {
    return withAdvice(
      error,
      'Set generateContentConfig.toolConfig.includeServerSideToolInvocations to true: this model takes built-in tools ' +
        `(${builtIns}) beside functions (${functions}) only so`,
    );
  }
  if (MIXED.test(error.message)) {
    return withAdvice(
      error,
      `This model takes either built-in tools (${builtIns}) or functions (${functions}): give one kind to an agent of its ` +
        'own, or take a model that has both',
    );
  }
  if (!JSON_ANSWER.test(error.message)) return error;
  return withAdvice(
    error,
    `This model takes either tools (${functions || builtIns}) or a response in JSON: leave out the agent's outputSchema (or ` +
      'responseMimeType), or its tools and its codeExecutor',
  );
}

function offered(config: GenerateContentConfig | undefined): { builtIns: string; functions: string } {
  const tools = config?.tools ?? [];
  const builtIns = tools.flatMap((tool) =>
    Object.keys(tool).filter((name) => name !== 'functionDeclarations'),
  );
  const functions = tools.flatMap((tool) =>
    'functionDeclarations' in tool ? (tool.functionDeclarations ?? []).map(({ name }) => name ?? '') : [],
  );
  return { builtIns: listed(builtIns), functions: listed(functions) };
}

function listed(names: readonly string[]): string {
  const others = names.length > MOST_NAMES ? ' and others' : '';
  return `${names.slice(0, MOST_NAMES).join(', ')}${others}`;
}
