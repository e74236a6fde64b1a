import type { Content, FunctionCall, FunctionResponse, Part } from '@google/genai';
import { checkDeclarations } from './gemini-declarations.ts';
import { invalidArgument, refuseInvalidFields } from './gemini-error.ts';
import { isObject, isUnset, type Json, listOf } from './gemini-json.ts';
import { checkShape, PART_DATA } from './gemini-shape.ts';
import type { ThoughtSignatures } from './gemini-signatures.ts';

const ROLES = new Set(['user', 'model', 'function']);

/**
 * Refuses what the real API answers with 400 INVALID_ARGUMENT, in its order: the payload's shape, single fields,
 * declarations, what stands together, the order of turns, thought signatures.
 *
 * @throws {GeminiRefusal} with the API's message, and where it is about contents their index.
 * @see https://ai.google.dev/gemini-api/docs/function-calling
 */
export function checkRequest(model: string, body: Json, signatures: ThoughtSignatures): void {
  checkShape(body);
  const contents = (body.contents ?? []) as Content[];
  checkFields(contents, body.systemInstruction as Content | undefined);
  checkDeclarations(body.tools);
  checkToolMix(model, body);
  checkTurns(contents);
  signatures.check(model, contents);
}

function checkFields(contents: readonly Content[], systemInstruction: Content | undefined): void {
  if (contents.length === 0) refuseInvalidFields(['contents: contents is not specified']);
  for (const [index, { role }] of contents.entries()) {
    if (isUnset(role) || ROLES.has(role)) continue;
    throw invalidArgument(
      `Please use a valid role: user, model. (contents[${index}].role is ${JSON.stringify(role)})`,
    );
  }
  const problems = contents.flatMap((content, index) => partProblems(content, `contents[${index}]`));
  if (!isUnset(systemInstruction)) problems.push(...partProblems(systemInstruction, 'system_instruction'));
  refuseInvalidFields(problems);
}

function partProblems(content: Content, path: string): string[] {
  const parts = content.parts ?? [];
  if (parts.length === 0) return [`${path}.parts: contents.parts must not be empty.`];
  return parts.flatMap((part, index) => {
    const partPath = `${path}.parts[${index}]`;
    if (PART_DATA.every((field) => isUnset(part[field]))) {
      return [`${partPath}.data: required oneof field 'data' must have one initialized field`];
    }
    const problems: string[] = [];
    if (part.functionCall && !part.functionCall.name) {
      problems.push(`${partPath}.function_call.name: Name cannot be empty.`);
    }
    if (part.functionResponse && !part.functionResponse.name) {
      problems.push(`${partPath}.function_response.name: Name cannot be empty.`);
    }
    if (part.functionResponse && !isObject(part.functionResponse.response)) {
      problems.push(`${partPath}.function_response.response: must be an object`);
    }
    return problems;
  });
}

function checkTurns(contents: readonly Content[]): void {
  for (const [index, content] of contents.entries()) {
    const previous = contents[index - 1];
    const calls = callsOf(content);
    const responses = responsesOf(content);
    if (calls.length > 0) {
      if (!isModel(content) || !previous || isModel(previous)) {
        throw turnError(
          'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
          index,
        );
      }
      checkCallIds(calls, index);
      checkAnswers(calls, contents[index + 1], index);
    }
    if (responses.length > 0 && (isModel(content) || !previous || callsOf(previous).length === 0)) {
      throw turnError(
        'Please ensure that function response turn comes immediately after a function call turn.',
        index,
      );
    }
  }
  const [first] = contents;
  if (!first || !isModel(first)) return;
  if (contents.length === 1) {
    throw turnError('Please ensure that single turn requests have a user role or no role.', 0);
  }
  throw turnError('Please ensure that multiturn requests start with a user turn.', 0);
}

function checkCallIds(calls: readonly FunctionCall[], index: number): void {
  const ids = calls.flatMap(({ id }) => (id ? [id] : []));
  const twice = ids.find((id, position) => ids.indexOf(id) !== position);
  if (twice !== undefined) {
    throw turnError(`Function call id ${JSON.stringify(twice)} is used by more than one call.`, index);
  }
}

function checkAnswers(calls: readonly FunctionCall[], next: Content | undefined, index: number): void {
  const responses = next && !isModel(next) ? responsesOf(next) : [];
  if (responses.length !== calls.length) {
    throw invalidArgument(
      `Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn. (contents[${index}] has ${calls.length} calls, contents[${index + 1}] ${next ? `${responses.length} responses` : 'is absent'})`,
    );
  }
  const byId = new Map(calls.flatMap((call) => (call.id ? [[call.id, call] as const] : [])));
  const inOrder = calls.filter(({ id }) => !id);
  const answered = new Set<string>();
  for (const response of responses) {
    const call = response.id ? byId.get(response.id) : inOrder.shift();
    if (!call) throw idMismatch(response, [...byId.keys()], index + 1);
    if (call.id && answered.has(call.id)) {
      throw turnError(`Function call id ${JSON.stringify(call.id)} is answered more than once.`, index + 1);
    }
    if (call.id) answered.add(call.id);
    if (call.name !== response.name) {
      throw turnError(
        `Please ensure that the name of each function response is the name of its function call: expected ${JSON.stringify(call.name)}, got ${JSON.stringify(response.name)}.`,
        index + 1,
      );
    }
  }
}

function idMismatch(response: FunctionResponse, ids: readonly string[], index: number): Error {
  const got = response.id ? JSON.stringify(response.id) : 'no id';
  return turnError(
    `functionResponse.id does not match functionCall.id: the response of ${JSON.stringify(response.name)} has ${got}, the calls have ${JSON.stringify(ids)}.`,
    index,
  );
}

function isModel(content: Content): boolean {
  return content.role === 'model';
}

function callsOf(content: Content): FunctionCall[] {
  return partsOf(content).flatMap((part) => (part.functionCall ? [part.functionCall] : []));
}

function responsesOf(content: Content): FunctionResponse[] {
  return partsOf(content).flatMap((part) => (part.functionResponse ? [part.functionResponse] : []));
}

function partsOf(content: Content): readonly Part[] {
  return content.parts ?? [];
}

function turnError(message: string, index: number): Error {
  return invalidArgument(`${message} (contents[${index}])`);
}

/**
 * Refuses what a model doesn't take together, as the API does: Gemini 2 takes one of built-in tools, functions and an answer in
 * JSON; later ones take built-in tools beside functions if the request says so.
 *
 * @see https://ai.google.dev/gemini-api/docs/tool-combination
 */
function checkToolMix(model: string, body: Json): void {
  const tools = listOf(body.tools).filter(isObject);
  const hasFunctions = tools.some((tool) => listOf(tool.functionDeclarations).length > 0);
  const hasBuiltIns = tools.some((tool) =>
    Object.entries(tool).some(([name, value]) => name !== 'functionDeclarations' && !isUnset(value)),
  );
  if (/^gemini-[12]\b/.test(model)) {
    if (hasFunctions && hasBuiltIns) throw invalidArgument('Tool use with function calling is unsupported');
    const config = isObject(body.generationConfig) ? body.generationConfig : {};
    if (config.responseMimeType !== 'application/json' || !(hasFunctions || hasBuiltIns)) return;
    const what = hasFunctions ? 'Function calling' : 'Tool use';
    throw invalidArgument(`${what} with a response mime type: 'application/json' is unsupported`);
  }
  const toolConfig = isObject(body.toolConfig) ? body.toolConfig : {};
  if (!hasFunctions || !hasBuiltIns || toolConfig.includeServerSideToolInvocations === true) return;
  throw invalidArgument(
    'Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.',
  );
}
