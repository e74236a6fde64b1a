import { Ajv, type ErrorObject, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { isTooDeep, tooDeepText } from '../contract/message-limits.ts';
import { canonicalJson } from '../protocol/canonical-json.ts';
import { isRecord } from '../protocol/json.ts';
import { messageOf } from '../protocol/message-of.ts';
import { PAYLOAD_LIMIT } from '../protocol/sizes.ts';
import { ajvProblems } from './ajv-problems.ts';
import { type JsonSchemaObject, refused, SchemaError, type Validation } from './compiled-schema.ts';
import { inlineReferences } from './inline-references.ts';
import { JsonValueError, toJsonValue } from './json-value.ts';
import { type LinearPattern, linearPattern } from './linear-pattern.ts';
import { assertBounded, checkable, WORK_KEYWORD, type Work, workFor } from './outside-schema.ts';
import { asJsonSchema } from './provider-schema.ts';

interface ReadJsonSchema {
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
  const schema = asJsonSchema(jsonCopy(given));
  const dialect = dialectOf(schema.$schema);
  if (dialect === undefined) {
    throw new SchemaError(['$schema'], 'write the schema in draft 2020-12 or draft-07');
  }
  const jsonSchema = inlineReferences(schema, isOutside ? PAYLOAD_LIMIT : undefined);
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

type JsonSchemaValidator = (value: unknown) => readonly ErrorObject[];
type BoundedValidator = (value: unknown) => readonly ErrorObject[] | 'too much work';

/** Characters of a text and steps of a pattern, comparisons and values looked at: about a fifth of a second. */
const MOST_WORK = 20_000_000;

const LONGEST_URL = 2_048;

const OPTIONS: Options = {
  allErrors: true,
  strict: false,
  logger: false,
  addUsedSchema: false,
  // Each object has a constructor, which no caller has sent.
  ownProperties: true,
};

/** For developers' own patterns: a schema from outside has none left that the other engine can't do. */
function nativePattern(source: string): RegExp {
  try {
    return new RegExp(source, 'u');
  } catch {
    // Patterns written for other engines often escape what Unicode mode doesn't let them.
    return new RegExp(source);
  }
}

const dialects: Record<string, { Engine: typeof Ajv; ofSchemas?: Ajv }> = {
  'draft-07': { Engine: Ajv },
  '2020-12': { Engine: Ajv2020 },
};

/** The dialect that `$schema` names; undefined for one that Holdfast doesn't know. */
function dialectOf($schema: unknown): string | undefined {
  if ($schema === undefined) return '2020-12';
  return Object.keys(dialects).find((dialect) => typeof $schema === 'string' && $schema.includes(dialect));
}

/**
 * Compiles a JSON Schema of a developer: about 1 ms, and once 30 ms for the schema of schemas. Nothing of it is kept.
 *
 * @param schema without `$schema`.
 * @throws Error what ajv says about an invalid schema.
 */
function compileJsonSchema(schema: object, dialect: string): JsonSchemaValidator {
  assertSchema(dialect, schema);
  return compiledBy(dialect, schema, { left: Number.POSITIVE_INFINITY });
}

/**
 * {@link compileJsonSchema} for a schema of another party: a check of a value always ends, with any schema.
 * Patterns that need an engine that backtracks are annotations.
 *
 * @throws Error what ajv says about an invalid schema. SchemaError for one that is beyond the bounds.
 */
function compileOutsideSchema(schema: object, dialect: string): BoundedValidator {
  // What asserts it compiles its patterns, too.
  const { bounded, patterns } = checkable(schema);
  assertSchema(dialect, schema);
  const budget = { left: 0, compiled: patterns };
  const check = compiledBy(dialect, bounded, budget);
  return (value) => {
    budget.left = MOST_WORK;
    try {
      return check(value);
    } catch (error) {
      // The other one is of a schema whose reference leads back to itself for the same value.
      if (error instanceof RangeError) return 'too much work';
      throw error;
    }
  };
}

interface Budget {
  left: number;
  compiled?: ReadonlyMap<string, LinearPattern | undefined>;
}

function compiledBy(dialect: string, schema: object, budget: Budget): JsonSchemaValidator {
  // An instance keeps the patterns and values of all that it has compiled.
  const ajv = engine(dialect, { ...OPTIONS, meta: false, validateSchema: false }, budget);
  const validate = ajv.compile(schema);
  return (value) => (validate(value) ? [] : [...(validate.errors ?? [])]);
}

function assertSchema(dialect: string, schema: object): void {
  const known = dialectNamed(dialect);
  known.ofSchemas ??= engine(dialect, OPTIONS, { left: Number.POSITIVE_INFINITY });
  known.ofSchemas.validateSchema(schema, true);
}

function dialectNamed(dialect: string) {
  const known = dialects[dialect];
  if (known === undefined) throw new Error(`no JSON Schema dialect ${dialect}`);
  return known;
}

function engine(dialect: string, options: Options, budget: Budget): Ajv {
  const { Engine } = dialectNamed(dialect);
  const regExp = (source: string) =>
    budget.compiled?.get(source) ?? linearPattern(source) ?? nativePattern(source);
  const code = { regExp: Object.assign(regExp, { code: 'linearPattern' }) };
  const ajv = addFormats.default(new Engine({ ...options, code }));
  // Its time grows with the square of the text.
  const isUrl = fullFormats.url as RegExp;
  ajv.addFormat('url', (text: string) => text.length <= LONGEST_URL && isUrl.test(text));
  const spend = (work: number) => {
    budget.left -= work;
    if (budget.left < 0) throw new RangeError('too much work');
    return true;
  };
  ajv.addKeyword({
    keyword: WORK_KEYWORD,
    schemaType: 'object',
    errors: false,
    validate: (work: Work, value: unknown) => spend(workFor(work, value)),
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    errors: false,
    // Ajv compares each item with each other one.
    validate: (isUnique: boolean, items: unknown[]) => !isUnique || areUnique(items, spend),
  });
  return ajv;
}

function areUnique(items: readonly unknown[], spend: (work: number) => boolean): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const text = canonicalJson(item);
    spend(text.length);
    seen.add(text);
  }
  return seen.size === items.length;
}
