import type { JsonSchemaObject } from './compiled-schema.ts';
import { isRecord } from './kind-of.ts';
import { didYouMean } from './nearest-name.ts';
import { SchemaError } from './schema-error.ts';
import { mapSubschemas } from './subschemas.ts';

/** Of these a schema states a part of what another states, whose properties may stand there. */
const PARTS = new Set(['allOf', 'oneOf', 'if', 'then', 'else', 'not', 'dependentSchemas', '$defs']);

/**
 * Refuses `required` names that no property has: Gemini refuses the request for them, and they are most often typos.
 *
 * @throws SchemaError
 */
export function assertRequiredExist(schema: JsonSchemaObject, path: readonly PropertyKey[] = []): void {
  const { required, properties = {}, allOf, anyOf, oneOf, $ref } = schema;
  const isComposed = [allOf, anyOf, oneOf, $ref].some((keyword) => keyword !== undefined);
  if (Array.isArray(required) && isRecord(properties) && !isComposed) {
    const names = Object.keys(properties);
    for (const [index, name] of required.entries()) {
      if (names.includes(name)) continue;
      const hint = didYouMean(String(name), names) || '; declare it in properties';
      throw new SchemaError([...path, 'required', index], `no property has the name "${name}"${hint}`);
    }
  }
  mapSubschemas(schema, (subschema, at) => {
    if (isRecord(subschema) && !PARTS.has(String(at[0]))) assertRequiredExist(subschema, [...path, ...at]);
    return subschema;
  });
}
