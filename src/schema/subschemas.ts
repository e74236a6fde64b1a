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
