import { isTooDeep, tooDeepText } from '../contract/message-limits.ts';
import { messageOf } from '../protocol/message-of.ts';
import { PAYLOAD_LIMIT } from '../protocol/sizes.ts';
import { ajvProblems } from './ajv-problems.ts';
import type { JsonSchemaObject } from './compiled-schema.ts';
import { inlineReferences } from './inline-references.ts';
import { compileJsonSchema, compileOutsideSchema, dialectOf } from './json-schema-validator.ts';
import { JsonValueError, toJsonValue } from './json-value.ts';
import { isRecord } from './kind-of.ts';
import { assertBounded } from './outside-schema.ts';
import { isProviderSchema, providerToJsonSchema } from './provider-schema.ts';
import { SchemaError } from './schema-error.ts';
import { refused, type Validation } from './validation.ts';

export interface ReadJsonSchema {
  jsonSchema: JsonSchemaObject;
  validate(value: unknown): Validation;
}

/**
 * Takes a JSON Schema, or the provider's `Schema`.
 *
 * @param how `isOutside`: see `SchemaSite`.
 * @throws SchemaError for a schema that can't be right, or is beyond the bounds of those from outside.
 */
export function readJsonSchema(given: object, { isOutside }: { isOutside: boolean }): ReadJsonSchema {
  if (isOutside) assertBounded(given);
  const copy = jsonCopy(given);
  const schema = isProviderSchema(copy) ? providerToJsonSchema(copy) : copy;
  const dialect = dialectOf(schema.$schema);
  if (dialect === undefined) {
    throw new SchemaError(['$schema'], 'write the schema in draft 2020-12 or draft-07');
  }
  const jsonSchema = isOutside ? inlineReferences(schema, PAYLOAD_LIMIT) : inlineReferences(schema);
  const check = compiled(jsonSchema, dialect, isOutside);
  return {
    jsonSchema,
    validate(value) {
      if (isOutside && isTooDeep(value)) {
        return refused([{ path: [], text: tooDeepText() }]);
      }
      const errors = check(value);
      if (errors === 'too much work') {
        return refused([{ path: [], text: 'too much to check by a schema like this: answer with less' }]);
      }
      return errors.length === 0 ? { ok: true, value } : refused(ajvProblems(errors, value));
    },
  };
}

function jsonCopy(given: object): Record<string, unknown> {
  try {
    const copy = toJsonValue(given);
    if (isRecord(copy)) return copy;
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    throw new SchemaError(error.at, error.problem, { cause: error });
  }
  throw new SchemaError([], 'expected a schema: zod 4, zod 3, JSON Schema, or the Schema of @google/genai');
}

function compiled(schema: JsonSchemaObject, dialect: string, isOutside: boolean) {
  try {
    return isOutside ? compileOutsideSchema(schema, dialect) : compileJsonSchema(schema, dialect);
  } catch (cause) {
    if (cause instanceof SchemaError) throw cause;
    const reason = messageOf(cause);
    throw new SchemaError([], `not a valid JSON Schema (${dialect}): ${reason}`, { cause });
  }
}
