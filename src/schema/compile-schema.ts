import { isRecord } from '../protocol/json.ts';
import { messageOf } from '../protocol/message-of.ts';
import {
  type CompiledSchema,
  type FieldChecks,
  type JsonSchemaObject,
  SchemaError,
  type SchemaSite,
  type Validation,
} from './compiled-schema.ts';
import { DefinitionError } from './definition-error.ts';
import { readJsonSchema } from './json-schema.ts';
import { kindOf } from './kind-of.ts';
import { didYouMean } from './known-fields.ts';
import { formatPath } from './path.ts';
import { mapSubschemas, rootOf, withObjectRoot } from './subschemas.ts';
import { checkWithZod3, isZod3Schema, validateWithZod3, zod3ToJsonSchema } from './zod3-schema.ts';
import { checkWithZod4, isZod4Schema, validateWithZod4, zod4ToJsonSchema } from './zod4-schema.ts';

/**
 * Takes a schema of any kind: zod 4, zod 3, JSON Schema (draft 2020-12 or draft-07), the provider's `Schema`. Zod
 * schemas validate by themselves, the others by ajv; messages are alike and never contain the value.
 *
 * @throws DefinitionError naming the place in the schema.
 */
export function compileSchema(schema: unknown, site: SchemaSite): CompiledSchema {
  return atSite(site, () => {
    const { jsonSchema, validate } = read(schema, site);
    return { jsonSchema: frozen(jsonSchema), validate };
  });
}

/**
 * {@link compileSchema} for the parameters of a function, which are always an object.
 *
 * @throws DefinitionError also for a schema that other values than objects fit, or that requires unknown properties.
 */
export function compileObjectSchema(schema: unknown, site: SchemaSite): CompiledSchema {
  const compiled = compileSchema(schema, site);
  return atSite(site, () => {
    const jsonSchema = withObjectRoot(compiled.jsonSchema);
    if (jsonSchema === undefined) {
      throw new SchemaError(
        [],
        `the root must be an object (z.object({…}), or type: 'object'), got ${rootOf(compiled.jsonSchema)}`,
      );
    }
    assertRequiredExist(jsonSchema);
    return { ...compiled, jsonSchema: frozen(jsonSchema) };
  });
}

/**
 * Checks of the properties of an object, each by itself and at once.
 *
 * @throws DefinitionError for a schema that other values than objects fit.
 */
export function compileFields(schema: unknown, site: SchemaSite): FieldChecks {
  const { jsonSchema } = compileObjectSchema(schema, site);
  if (isRecord(schema) && isZodSchema(schema) && isRecord(schema.shape)) {
    return new Map(Object.entries(schema.shape).map(([name, field]) => [name, checkOfZod(field)]));
  }
  const { properties, $defs } = jsonSchema;
  return atSite(site, () => {
    const named = Object.entries(isRecord(properties) ? properties : {});
    return new Map(
      named.map(([name, property]) => {
        const whole = { ...(isRecord(property) ? property : {}), ...($defs === undefined ? {} : { $defs }) };
        return [name, readJsonSchema(whole, { isOutside: site.isOutside === true }).validate];
      }),
    );
  });
}

function checkOfZod(field: unknown): (value: unknown) => Validation {
  if (typeof field !== 'object' || field === null) return (value) => ({ ok: true, value });
  if (isZod4Schema(field)) return (value) => checkWithZod4(field, value);
  return (value) => (isZod3Schema(field) ? checkWithZod3(field, value) : { ok: true, value });
}

function atSite<T>(site: SchemaSite, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const field = formatPath([site.field, ...error.path]);
    throw new DefinitionError({ owner: site.owner, field, problem: error.message }, { cause: error });
  }
}

function read(schema: unknown, { side, isOutside }: SchemaSite): CompiledSchema {
  if (typeof schema !== 'object' || schema === null) {
    throw new SchemaError(
      [],
      `expected a schema (zod 4, zod 3, JSON Schema, or the Schema of @google/genai), got ${kindOf(schema)}`,
    );
  }
  if (isZod4Schema(schema)) {
    return {
      jsonSchema: ofZod(() => zod4ToJsonSchema(schema, side)),
      validate: (value) => validateWithZod4(schema, value),
    };
  }
  if (isZod3Schema(schema)) {
    return {
      jsonSchema: ofZod(() => zod3ToJsonSchema(schema, side)),
      validate: (value) => validateWithZod3(schema, value),
    };
  }
  refuseRawShape(schema);
  const { jsonSchema, validate } = readJsonSchema(schema, { isOutside: isOutside === true });
  return { jsonSchema, validate: async (value) => validate(value) };
}

function ofZod(convert: () => JsonSchemaObject): JsonSchemaObject {
  try {
    return convert();
  } catch (cause) {
    if (cause instanceof SchemaError) throw cause;
    const reason = messageOf(cause);
    throw new SchemaError([], `zod can't write it as JSON Schema: ${reason}`, { cause });
  }
}

function refuseRawShape(schema: object): void {
  const isShape = Object.values(schema).some(
    (member) =>
      typeof member === 'object' && member !== null && (isZod4Schema(member) || isZod3Schema(member)),
  );
  if (isShape) throw new SchemaError([], 'an object of zod schemas is no schema; wrap it: z.object({…})');
}

function frozen<T>(value: T): T {
  if (Array.isArray(value) || isRecord(value)) {
    for (const member of Object.values(value)) frozen(member);
    Object.freeze(value);
  }
  return value;
}

/** Keywords whose schema states a part of another one's object, and may name that one's properties. */
const PARTS = new Set(['allOf', 'oneOf', 'if', 'then', 'else', 'not', 'dependentSchemas', '$defs']);

/**
 * Refuses `required` names that no property has: Gemini refuses the request for them, and they are most often typos.
 *
 * @throws SchemaError
 */
function assertRequiredExist(schema: JsonSchemaObject, path: readonly PropertyKey[] = []): void {
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

export function isZodSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (isZod4Schema(value) || isZod3Schema(value));
}
