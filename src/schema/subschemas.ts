import { isRecord } from '../protocol/json.ts';
import type { JsonSchemaObject } from './compiled-schema.ts';

type SchemaObject = Record<string, unknown>;

const MAPS = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const SINGLE = new Set([
  'items',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contentSchema',
  'not',
  'if',
  'then',
  'else',
]);

/**
 * Copies a schema with each direct subschema replaced. Everything else, `default` and `const` among it, is data and stays, also if
 * it looks like a schema.
 */
export function mapSubschemas(
  schema: SchemaObject,
  replace: (subschema: unknown, path: PropertyKey[]) => unknown,
): SchemaObject {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, mapKeyword(keyword, value, replace)]),
  );
}

function mapKeyword(
  keyword: string,
  value: unknown,
  replace: (subschema: unknown, path: PropertyKey[]) => unknown,
): unknown {
  if (Array.isArray(value)) {
    return LISTS.has(keyword) || keyword === 'items'
      ? value.map((member, index) => replace(member, [keyword, index]))
      : value;
  }
  if (SINGLE.has(keyword)) return replace(value, [keyword]);
  if (!MAPS.has(keyword) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, replace(member, [keyword, name])]),
  );
}

const OBJECT_KEYWORDS = [
  'properties',
  'required',
  'patternProperties',
  'additionalProperties',
  'minProperties',
];

/**
 * The schema with `type: 'object'` at its root, which Gemini asks for, or undefined where other values than objects
 * fit it too.
 */
export function withObjectRoot(schema: JsonSchemaObject): JsonSchemaObject | undefined {
  if (!admitsObjectsOnly(schema)) return undefined;
  return schema.type === 'object' ? schema : { ...schema, type: 'object' };
}

function admitsObjectsOnly(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  const { type, allOf, anyOf, oneOf } = schema;
  if (type !== undefined)
    return type === 'object' || (Array.isArray(type) && type.every((name) => name === 'object'));
  if (Array.isArray(allOf) && allOf.some(admitsObjectsOnly)) return true;
  const branches = anyOf ?? oneOf;
  if (Array.isArray(branches)) return branches.length > 0 && branches.every(admitsObjectsOnly);
  return OBJECT_KEYWORDS.some((keyword) => schema[keyword] !== undefined);
}

/** Describes a root that is no object, for an error message. */
export function rootOf({ type, anyOf, oneOf }: JsonSchemaObject): string {
  if (typeof type === 'string') return `type "${type}"`;
  if (Array.isArray(type)) return `types ${type.map((name) => `"${name}"`).join(' and ')}`;
  return anyOf !== undefined || oneOf !== undefined ? 'a union with other branches than objects' : 'no type';
}
