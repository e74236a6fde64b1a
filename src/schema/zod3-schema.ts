import type { z } from 'zod/v3';
import { ignoreOverride, zodToJsonSchema } from 'zod-to-json-schema';
import type { JsonSchemaObject, SchemaSite } from './compiled-schema.ts';
import { inlineReferences } from './inline-references.ts';
import { SchemaError } from './schema-error.ts';
import { refused, type Validation } from './validation.ts';
import { zod3Problems } from './zod3-problems.ts';
import { NO_MESSAGE } from './zod4-problems.ts';

const NOT_JSON = new Set([
  'ZodMap',
  'ZodSet',
  'ZodNaN',
  'ZodSymbol',
  'ZodUndefined',
  'ZodVoid',
  'ZodFunction',
  'ZodPromise',
]);

export function isZod3Schema(value: object): value is z.ZodTypeAny {
  return (
    !('_zod' in value) &&
    '_def' in value &&
    typeof value._def === 'object' &&
    value._def !== null &&
    'typeName' in value._def &&
    'safeParseAsync' in value
  );
}

/** @throws SchemaError for types that JSON has no form of. */
export function zod3ToJsonSchema(schema: z.ZodTypeAny, side: SchemaSite['side']): JsonSchemaObject {
  const jsonSchema = zodToJsonSchema(schema, {
    removeAdditionalStrategy: 'strict',
    pipeStrategy: side,
    effectStrategy: side === 'input' ? 'input' : 'any',
    override: (def, { currentPath }) => {
      const { typeName, coerce } = def as { typeName: string; coerce?: boolean };
      const path = currentPath.slice(1);
      if (typeName === 'ZodDate') {
        if (side === 'output' || coerce) return { type: 'string', format: 'date-time' };
        throw new SchemaError(path, 'JSON has no dates; use z.coerce.date() or z.string().datetime()');
      }
      if (typeName === 'ZodBigInt') {
        if (side === 'input' && coerce) return { type: 'integer' };
        throw new SchemaError(path, 'JSON has no bigint; use z.number().int() or z.string()');
      }
      if (NOT_JSON.has(typeName))
        throw new SchemaError(path, `${typeName} can't be represented in JSON Schema`);
      return ignoreOverride;
    },
    // It says of every object that it takes more, which is what JSON Schema means by saying nothing.
    postProcess: (node) => {
      if (node !== undefined && 'additionalProperties' in node && node.additionalProperties === true) {
        delete node.additionalProperties;
      }
      return node;
    },
  });
  return inlineReferences(JSON.parse(JSON.stringify(jsonSchema)));
}

export async function validateWithZod3(schema: z.ZodTypeAny, value: unknown): Promise<Validation> {
  const result = await schema.safeParseAsync(value, { errorMap: () => ({ message: NO_MESSAGE }) });
  if (result.success) return { ok: true, value: result.data };
  return refused(zod3Problems(result.error.issues, value));
}
