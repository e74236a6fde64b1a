import { z } from 'zod';
import type { JsonSchemaObject, SchemaSite } from './compiled-schema.ts';
import { inlineReferences } from './inline-references.ts';
import { SchemaError } from './schema-error.ts';
import { refused, type Validation } from './validation.ts';
import { NO_MESSAGE, zod4Problems } from './zod4-problems.ts';

type JsonSchemaNode = z.core.JSONSchema.BaseSchema;

export function isZod4Schema(value: object): value is z.core.$ZodType {
  return '_zod' in value && typeof value._zod === 'object' && value._zod !== null && 'def' in value._zod;
}

/** @throws SchemaError for types that JSON has no form of. */
export function zod4ToJsonSchema(schema: z.core.$ZodType, side: SchemaSite['side']): JsonSchemaObject {
  const jsonSchema = z.toJSONSchema(schema, {
    io: side,
    unrepresentable: ({ zodSchema, path, message }) => {
      const { def } = zodSchema._zod;
      switch (def.type) {
        case 'date':
          if (side === 'output' || ('coerce' in def && def.coerce))
            return { type: 'string', format: 'date-time' };
          throw new SchemaError(path, 'JSON has no dates; use z.coerce.date() or z.iso.datetime()');
        case 'bigint':
          if (side === 'input' && 'coerce' in def && def.coerce) return { type: 'integer' };
          throw new SchemaError(path, 'JSON has no bigint; use z.int() or z.string()');
        case 'transform':
        case 'custom':
          return 'any';
        default:
          throw new SchemaError(path, message);
      }
    },
    override: ({ jsonSchema: node }) => trim(node),
  });
  // Other properties that zod puts on its result are removed.
  return inlineReferences(JSON.parse(JSON.stringify(jsonSchema)));
}

/** Takes out what is there for validators alone: it costs tokens and tells the model nothing. */
function trim(node: JsonSchemaNode): void {
  if (node.format !== undefined) delete node.pattern;
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  const names = node.propertyNames;
  if (typeof names === 'object' && Object.keys(names).length === 1 && names.type === 'string') {
    delete node.propertyNames;
  }
}

export async function validateWithZod4(schema: z.core.$ZodType, value: unknown): Promise<Validation> {
  const result = await z.core.safeParseAsync(schema, value, { error: () => NO_MESSAGE });
  if (result.success) return { ok: true, value: result.data };
  return refused(zod4Problems(result.error.issues, value));
}
