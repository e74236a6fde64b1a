import { isRecord } from '../protocol/json.ts';
import { SchemaError } from './compiled-schema.ts';
import { kindOf } from './kind-of.ts';
import { mapSubschemas } from './subschemas.ts';

type SchemaObject = Record<string, unknown>;

const TYPES = new Set([
  'STRING',
  'NUMBER',
  'INTEGER',
  'BOOLEAN',
  'ARRAY',
  'OBJECT',
  'NULL',
  'TYPE_UNSPECIFIED',
]);

/** The API carries int64 as text. */
const COUNTS = ['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties'];

/** Whether the schema, or a part of it, names a type in upper case, which JSON Schema never does. */
function isProviderSchema(schema: SchemaObject): boolean {
  let found = false;
  const visit = (subschema: unknown): unknown => {
    if (found || !isRecord(subschema)) return subschema;
    found = typeof subschema.type === 'string' && TYPES.has(subschema.type);
    mapSubschemas(subschema, visit);
    return subschema;
  };
  visit(schema);
  return found;
}

/**
 * A schema as JSON Schema. The `Schema` of the Gemini API is translated: types in lower case, `nullable` as a type, counts as
 * numbers. `propertyOrdering` stays, because the API reads it in JSON Schemas too.
 *
 * @throws SchemaError
 */
export function asJsonSchema(schema: SchemaObject): SchemaObject {
  return isProviderSchema(schema) ? translated(schema) : schema;
}

function translated(schema: SchemaObject, path: PropertyKey[] = []): SchemaObject {
  const { type, nullable, example, format, ...rest } = mapSubschemas(schema, (subschema, at) =>
    isRecord(subschema) ? translated(subschema, [...path, ...at]) : subschema,
  );
  const json: SchemaObject = { ...typeOf(type, path), ...rest };
  for (const keyword of COUNTS) {
    if (rest[keyword] !== undefined) json[keyword] = countOf(rest[keyword], [...path, keyword]);
  }
  if (format !== undefined && format !== 'enum') json.format = format;
  if (example !== undefined) json.examples = [example];
  if (Array.isArray(rest.enum) && (json.type === 'integer' || json.type === 'number')) {
    json.enum = rest.enum.map((value) => numberOf(value, [...path, 'enum']));
  }
  return nullable === true ? withNull(json) : json;
}

function typeOf(type: unknown, path: PropertyKey[]): SchemaObject {
  if (type === undefined || type === 'TYPE_UNSPECIFIED') return {};
  if (typeof type !== 'string' || !TYPES.has(type.toUpperCase())) {
    throw new SchemaError([...path, 'type'], `expected one of ${[...TYPES].slice(0, -1).join(', ')}`);
  }
  return { type: type.toLowerCase() };
}

function countOf(value: unknown, path: PropertyKey[]): number {
  const count = numberOf(value, path);
  if (!Number.isInteger(count) || count < 0)
    throw new SchemaError(path, 'expected a whole number, 0 or more');
  return count;
}

function numberOf(value: unknown, path: PropertyKey[]): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) {
    throw new SchemaError(path, `expected a number, got ${kindOf(value)}`);
  }
  return number;
}

function withNull(schema: SchemaObject): SchemaObject {
  if (schema.type === undefined) {
    return Array.isArray(schema.anyOf) ? { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] } : schema;
  }
  const values = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  return { ...schema, ...values, type: [schema.type, 'null'] };
}
