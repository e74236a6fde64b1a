import type { FieldViolation } from './gemini-error.ts';
import { isObject, isUnset, type Json, listOf } from './gemini-json.ts';
import { invalidValue, unknownNames } from './gemini-violation.ts';

/** The OpenAPI subset that `Schema` of the Gemini API has. */
const SCHEMA_FIELDS = new Set([
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'items',
  'minItems',
  'maxItems',
  'properties',
  'required',
  'propertyOrdering',
  'minProperties',
  'maxProperties',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'example',
  'default',
  'anyOf',
]);

const TYPES = new Set([
  'TYPE_UNSPECIFIED',
  'STRING',
  'NUMBER',
  'INTEGER',
  'BOOLEAN',
  'ARRAY',
  'OBJECT',
  'NULL',
]);

const ENUM_TYPES = new Set(['STRING', 'INTEGER', 'NUMBER']);

/** The problems of a value that does not parse as a `Schema` message: names it does not have, a type outside of its enum, enum values. */
export function schemaViolations(schema: unknown, path: string): FieldViolation[] {
  if (!isObject(schema)) return [invalidValue(path, 'message', schema)];
  const violations = unknownNames(schema, SCHEMA_FIELDS, path);
  if (!isUnset(schema.type) && !TYPES.has(typeOf(schema))) {
    const type = 'type.googleapis.com/google.ai.generativelanguage.v1beta.Type';
    violations.push(invalidValue(`${path}.type`, type, schema.type));
  }
  for (const [index, value] of listOf(schema.enum).entries()) {
    if (typeof value !== 'string') {
      violations.push(invalidValue(`${path}.enum[${index}]`, 'TYPE_STRING', value));
    }
  }
  const members = isObject(schema.properties) ? Object.values(schema.properties) : [];
  for (const [index, member] of members.entries()) {
    violations.push(...schemaViolations(member, `${path}.properties[${index}].value`));
  }
  if (!isUnset(schema.items)) violations.push(...schemaViolations(schema.items, `${path}.items`));
  for (const [index, option] of listOf(schema.anyOf).entries()) {
    violations.push(...schemaViolations(option, `${path}.any_of[${index}]`));
  }
  return violations;
}

/** The problems of meaning in a well-formed legacy `Schema`. */
export function schemaProblems(schema: Json, path: string): string[] {
  const problems = commonProblems(schema, path);
  const type = typeOf(schema);
  if (schema.enum !== undefined && !ENUM_TYPES.has(type)) {
    problems.push(`${path}.enum: only allowed for STRING type`);
  }
  if (type === 'ARRAY' && isUnset(schema.items)) problems.push(`${path}.items: missing field.`);
  for (const [subschema, subpath] of subschemas(schema, path)) {
    problems.push(...schemaProblems(subschema, subpath));
  }
  return problems;
}

/**
 * The problems of a JSON Schema. Keywords that the API does not know are not refused: it ignores them. A schema that
 * is composed may have its properties elsewhere, so `required` is not held against it.
 */
export function jsonSchemaProblems(schema: Json, path: string): string[] {
  const problems = commonProblems(schema, path);
  for (const [subschema, subpath] of subschemas(schema, path)) {
    problems.push(...jsonSchemaProblems(subschema, subpath));
  }
  return problems;
}

export function typeOf(schema: Json): string {
  return typeof schema.type === 'string' ? schema.type.toUpperCase() : '';
}

function commonProblems(schema: Json, path: string): string[] {
  const problems: string[] = [];
  if (Array.isArray(schema.enum) && schema.enum.length === 0)
    problems.push(`${path}.enum: must not be empty`);
  for (const [index, value] of listOf(schema.enum).entries()) {
    if (value === '') problems.push(`${path}.enum[${index}]: cannot be empty`);
  }
  const composed = ['allOf', 'anyOf', 'oneOf', '$ref'].some((keyword) => schema[keyword] !== undefined);
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const [index, name] of listOf(schema.required).entries()) {
    if (composed || (typeof name === 'string' && Object.hasOwn(properties, name))) continue;
    problems.push(`${path}.required[${index}]: property is not defined`);
  }
  return problems;
}

function subschemas(schema: Json, path: string): [Json, string][] {
  const found: [unknown, string][] = [[schema.items, `${path}.items`]];
  const properties = isObject(schema.properties) ? schema.properties : {};
  for (const [name, member] of Object.entries(properties))
    found.push([member, `${path}.properties[${name}]`]);
  for (const [index, option] of listOf(schema.anyOf).entries()) {
    found.push([option, `${path}.any_of[${index}]`]);
  }
  return found.filter((entry): entry is [Json, string] => isObject(entry[0]));
}
