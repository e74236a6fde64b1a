import { invalidArgument, refuseInvalidFields } from './gemini-error.ts';
import { isObject, isUnset, type Json, listOf, snakeCase } from './gemini-json.ts';
import { jsonSchemaProblems, schemaProblems, typeOf } from './gemini-schema.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;
const MAX_DECLARATIONS = 512;

/** Refuses function declarations as the API does. Their shape has been checked before. */
export function checkDeclarations(tools: unknown): void {
  const problems: string[] = [];
  const names = new Set<string>();
  let count = 0;
  for (const [toolIndex, tool] of listOf(tools).entries()) {
    if (!isObject(tool)) continue;
    const path = `tools[${toolIndex}]`;
    const declarations = listOf(tool.functionDeclarations).filter(isObject);
    if (isEmptyTool(tool)) {
      problems.push(`${path}.tool_type: required one_of 'tool_type' must have one initialized field`);
    }
    count += declarations.length;
    for (const [index, declaration] of declarations.entries()) {
      problems.push(...declarationProblems(declaration, `${path}.function_declarations[${index}]`));
      const name = String(declaration.name);
      if (names.has(name)) throw invalidArgument(`Duplicate function declaration found: ${name}`);
      names.add(name);
    }
  }
  if (count > MAX_DECLARATIONS) {
    problems.push(`tools: at most ${MAX_DECLARATIONS} function declarations are allowed, got ${count}`);
  }
  refuseInvalidFields(problems);
}

function isEmptyTool(tool: Json): boolean {
  const set = Object.entries(tool).filter(([, value]) => !isUnset(value));
  return set.every(([name, value]) => name === 'functionDeclarations' && listOf(value).length === 0);
}

function declarationProblems(declaration: Json, path: string): string[] {
  const problems: string[] = [];
  if (typeof declaration.name !== 'string' || !NAME.test(declaration.name)) {
    problems.push(
      `${path}.name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`,
    );
  }
  problems.push(...pairProblems(declaration, 'parameters', path));
  problems.push(...pairProblems(declaration, 'response', path));
  const parameters = declaration.parametersJsonSchema ?? declaration.parameters;
  if (isObject(parameters) && typeOf(parameters) !== 'OBJECT') {
    const field = isUnset(declaration.parametersJsonSchema) ? 'parameters' : 'parameters_json_schema';
    problems.push(`${path}.${field}.type: must be OBJECT, got ${JSON.stringify(parameters.type ?? null)}`);
  }
  return problems;
}

function pairProblems(declaration: Json, field: 'parameters' | 'response', path: string): string[] {
  const legacy = declaration[field];
  const jsonField = `${field}JsonSchema`;
  const json = declaration[jsonField];
  const jsonPath = `${path}.${snakeCase(jsonField)}`;
  const problems: string[] = [];
  if (!isUnset(legacy) && !isUnset(json)) {
    problems.push(`${path}: ${field} and ${snakeCase(jsonField)} are mutually exclusive`);
  }
  if (isObject(legacy)) problems.push(...schemaProblems(legacy, `${path}.${field}`));
  if (isObject(json)) problems.push(...jsonSchemaProblems(json, jsonPath));
  else if (!isUnset(json)) problems.push(`${jsonPath}: must be a JSON Schema object`);
  return problems;
}
