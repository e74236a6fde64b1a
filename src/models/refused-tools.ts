import type { GenerateContentConfig } from '@google/genai';
import { ModelError } from './model-errors.ts';

const FLAG = /include_server_side_tool_invocations/i;
const MIXED = /tool use with function calling is unsupported|cannot be combined in the same request/i;
const JSON_ANSWER = /(tool use|function calling) with a response mime type/i;
const MOST_NAMES = 5;

/**
 * An error that names the tools, and says what to do, where Gemini has refused a combination of tools. Any other
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

const PATH = String.raw`((?:\.[\w$]+|\[[^\][]*\])*)`;
const DECLARATION = new RegExp(String.raw`tools\[(\d+)\]\.function_?declarations\[(\d+)\]${PATH}`, 'i');
const RESPONSE = new RegExp(String.raw`generation_?config\.response_?(?:json_?)?schema${PATH}`, 'i');
/** The tool by which an agent with tools answers by its `outputSchema`. */
const ANSWER = 'set_model_response';
/** Characters of the API's message that are searched. */
const LONGEST_LINE = 2_000;
const UNKNOWN_NAME = /Unknown name "([^"]+)"/;

/**
 * An error that names the tool, or the agent's `outputSchema`, and the keyword, where Gemini has refused a request for one of
 * its schemas: the API tells positions only. Any other error as it is.
 */
export function namingSchema(error: ModelError, config: GenerateContentConfig | undefined): ModelError {
  if (error.kind !== 'bad_request') return error;
  const lines = error.message.split('\n').map((each) => each.slice(0, LONGEST_LINE));
  const line = lines.find((each) => DECLARATION.test(each) || RESPONSE.test(each)) ?? '';
  const culprit = culpritOf(line, config);
  return culprit === undefined ? error : withAdvice(error, culprit);
}

/** The error with a sentence of ours before the provider's. */
function withAdvice(error: ModelError, advice: string): ModelError {
  const { kind, message, status, retryable, retryAfterMs } = error;
  return new ModelError({ kind, status, retryable, retryAfterMs, message: `${advice}. ${message}` });
}

function culpritOf(line: string, config: GenerateContentConfig | undefined): string | undefined {
  const [declared, tool, declaration, path] = DECLARATION.exec(line) ?? [];
  if (declared !== undefined) {
    const name = declarationName(config, Number(tool), Number(declaration));
    if (name === undefined) return undefined;
    const what = name === ANSWER ? `outputSchema (sent as the tool "${name}")` : `tool "${name}"`;
    return `Change the ${what}${at(path, line)}`;
  }
  const [response, responsePath] = RESPONSE.exec(line) ?? [];
  return response === undefined ? undefined : `Change the outputSchema${at(responsePath, line)}`;
}

function declarationName(
  config: GenerateContentConfig | undefined,
  tool: number,
  declaration: number,
): string | undefined {
  const entry = config?.tools?.[tool];
  if (entry === undefined || !('functionDeclarations' in entry)) return undefined;
  return entry.functionDeclarations?.[declaration]?.name;
}

/** Where in the schema, and by which keyword: the name that the API doesn't know, else the last one of the path. */
function at(path = '', line: string): string {
  const place = path.replace(/^\./, '');
  const keyword = UNKNOWN_NAME.exec(line)?.[1] ?? /(?<![\w$])([\w$]+)(?:\[[^\][]*\])*$/.exec(place)?.[1];
  return `${place === '' ? '' : ` at ${place}`}${keyword === undefined ? '' : ` (keyword "${keyword}")`}`;
}
