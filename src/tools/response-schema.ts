import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import { withObjectRoot } from '../schema/object-root.ts';

/** The schema of a response whose result fits this one: results that are no objects are sent as `{ result }`. */
export function responseSchema(jsonSchema: JsonSchemaObject): JsonSchemaObject {
  const object = withObjectRoot(jsonSchema);
  if (object !== undefined) return object;
  const { $defs, ...result } = jsonSchema;
  return {
    type: 'object',
    properties: { result },
    required: ['result'],
    ...($defs === undefined ? {} : { $defs }),
  };
}
