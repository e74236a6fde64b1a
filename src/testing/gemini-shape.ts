import { type FieldViolation, refuseViolations } from './gemini-error.ts';
import { isObject, isUnset, type Json, listOf } from './gemini-json.ts';
import { schemaViolations } from './gemini-schema.ts';
import { invalidValue, unknownNames } from './gemini-violation.ts';

const REQUEST_FIELDS = new Set([
  'model',
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'generationConfig',
  'cachedContent',
  'labels',
  'store',
  'serviceTier',
  'modelArmorConfig',
]);
const CONTENT_FIELDS = new Set(['role', 'parts']);
const CALL_FIELDS = new Set(['id', 'name', 'args', 'partialArgs', 'willContinue']);
const RESPONSE_FIELDS = new Set(['id', 'name', 'response', 'parts', 'scheduling', 'willContinue']);
const TOOL_CONFIG_FIELDS = new Set([
  'functionCallingConfig',
  'retrievalConfig',
  'includeServerSideToolInvocations',
]);
const TOOL_FIELDS = new Set([
  'functionDeclarations',
  'googleSearch',
  'googleSearchRetrieval',
  'googleMaps',
  'codeExecution',
  'computerUse',
  'urlContext',
  'fileSearch',
  'mcpServers',
  'retrieval',
  'enterpriseWebSearch',
  'exaAiSearch',
  'parallelAiSearch',
]);
const DECLARATION_FIELDS = new Set([
  'name',
  'description',
  'behavior',
  'parameters',
  'parametersJsonSchema',
  'response',
  'responseJsonSchema',
]);

/** The members of the `data` oneof of a part. */
export const PART_DATA = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const;

const PART_FIELDS = new Set<string>([
  ...PART_DATA,
  'thought',
  'thoughtSignature',
  'videoMetadata',
  'mediaResolution',
  'mediaProcessing',
  'partMetadata',
  'audioTranscription',
  'speechMetadata',
]);

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/**
 * Refuses what the API's JSON parser refuses before it looks at any meaning: unknown names and values that do not fit
 * the type of their field.
 */
export function checkShape(body: Json): void {
  const violations: FieldViolation[] = unknownNames(body, REQUEST_FIELDS, '');
  const contents = messages(body.contents, 'contents', violations);
  for (const [path, content] of contents) violations.push(...contentViolations(content, path));
  if (!isUnset(body.systemInstruction)) {
    const path = 'system_instruction';
    if (isObject(body.systemInstruction)) violations.push(...contentViolations(body.systemInstruction, path));
    else violations.push(invalidValue(path, 'Content', body.systemInstruction));
  }
  for (const [path, tool] of messages(body.tools, 'tools', violations)) {
    violations.push(...toolViolations(tool, path));
  }
  if (isObject(body.toolConfig)) {
    violations.push(...unknownNames(body.toolConfig, TOOL_CONFIG_FIELDS, 'tool_config'));
  }
  refuseViolations(violations);
}

function contentViolations(content: Json, path: string): FieldViolation[] {
  const violations = unknownNames(content, CONTENT_FIELDS, path);
  if (!isUnset(content.role) && typeof content.role !== 'string') {
    violations.push(invalidValue(`${path}.role`, 'TYPE_STRING', content.role));
  }
  for (const [partPath, part] of messages(content.parts, `${path}.parts`, violations)) {
    violations.push(...partViolations(part, partPath));
  }
  return violations;
}

function partViolations(part: Json, path: string): FieldViolation[] {
  const violations = unknownNames(part, PART_FIELDS, path);
  const [, second] = PART_DATA.filter((field) => !isUnset(part[field]));
  if (second) {
    const description = `Invalid value at '${path}' (oneof), oneof field 'data' is already set. Cannot set '${second}'`;
    violations.push({ field: path, description });
  }
  if (!isUnset(part.text) && typeof part.text !== 'string') {
    violations.push(invalidValue(`${path}.text`, 'TYPE_STRING', part.text));
  }
  const signature = part.thoughtSignature;
  if (!isUnset(signature) && (typeof signature !== 'string' || !BASE64.test(signature))) {
    const field = `${path}.thought_signature`;
    const description = `Invalid value at '${field}' (TYPE_BYTES), Base64 decoding failed for ${JSON.stringify(signature)}`;
    violations.push({ field, description });
  }
  violations.push(...functionViolations(part.functionCall, CALL_FIELDS, 'args', `${path}.function_call`));
  violations.push(
    ...functionViolations(part.functionResponse, RESPONSE_FIELDS, 'response', `${path}.function_response`),
  );
  return violations;
}

function functionViolations(
  value: unknown,
  fields: ReadonlySet<string>,
  struct: 'args' | 'response',
  path: string,
): FieldViolation[] {
  if (isUnset(value)) return [];
  if (!isObject(value)) return [invalidValue(path, 'message', value)];
  const violations = unknownNames(value, fields, path);
  for (const field of ['id', 'name']) {
    if (isUnset(value[field]) || typeof value[field] === 'string') continue;
    violations.push(invalidValue(`${path}.${field}`, 'TYPE_STRING', value[field]));
  }
  if (!isUnset(value[struct]) && !isObject(value[struct])) {
    const type = 'type.googleapis.com/google.protobuf.Struct';
    violations.push(invalidValue(`${path}.${struct}`, type, value[struct]));
  }
  return violations;
}

function toolViolations(tool: Json, path: string): FieldViolation[] {
  const violations = unknownNames(tool, TOOL_FIELDS, path);
  const declarationsPath = `${path}.function_declarations`;
  const declarations = messages(tool.functionDeclarations, declarationsPath, violations);
  for (const [declarationPath, declaration] of declarations) {
    violations.push(...unknownNames(declaration, DECLARATION_FIELDS, declarationPath));
    for (const field of ['parameters', 'response'] as const) {
      if (isUnset(declaration[field])) continue;
      violations.push(...schemaViolations(declaration[field], `${declarationPath}.${field}`));
    }
  }
  return violations;
}

function messages(value: unknown, path: string, violations: FieldViolation[]): [string, Json][] {
  if (!isUnset(value) && !Array.isArray(value)) violations.push(invalidValue(path, 'list', value));
  return listOf(value).flatMap((item, index): [string, Json][] => {
    const itemPath = `${path}[${index}]`;
    if (isObject(item)) return [[itemPath, item]];
    violations.push(invalidValue(itemPath, 'message', item));
    return [];
  });
}
