import type { z } from 'zod/v3';
import { ignoreOverride, zodToJsonSchema } from 'zod-to-json-schema';
import {
  type JsonSchemaObject,
  refused,
  SchemaError,
  type SchemaSite,
  type Validation,
} from './compiled-schema.ts';
import { inlineReferences } from './inline-references.ts';
import type { Path } from './path.ts';
import {
  fitsNoBranch,
  notOneOf,
  outOfRange,
  type Problem,
  unknownProperty,
  wrongFormat,
  wrongKind,
} from './problems.ts';
import { NO_MESSAGE } from './zod4-schema.ts';

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

/** As {@link validateWithZod3}, at once. @throws Error for a schema that waits for something. */
export function checkWithZod3(schema: z.ZodTypeAny, value: unknown): Validation {
  const result = schema.safeParse(value, { errorMap: () => ({ message: NO_MESSAGE }) });
  if (result.success) return { ok: true, value: result.data };
  return refused(zod3Problems(result.error.issues, value));
}

export async function validateWithZod3(schema: z.ZodTypeAny, value: unknown): Promise<Validation> {
  const result = await schema.safeParseAsync(value, { errorMap: () => ({ message: NO_MESSAGE }) });
  if (result.success) return { ok: true, value: result.data };
  return refused(zod3Problems(result.error.issues, value));
}

const COUNTED: Record<string, string> = { string: 'character', array: 'item', set: 'item' };

const KINDS: Record<string, string> = { float: 'number', map: 'object', set: 'array' };

const FORMATS: Record<string, string> = { datetime: 'date-time', url: 'uri' };

/** Zod 3 gives paths from the root, those of union branches included. */
function zod3Problems(issues: readonly z.ZodIssue[], root: unknown): Problem[] {
  return issues.flatMap((issue) => problemsOf(issue, root));
}

function problemsOf(issue: z.ZodIssue, root: unknown): Problem[] {
  const path: Path = issue.path;
  if (issue.message !== NO_MESSAGE) return [{ path, text: issue.message }];
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'never') return [{ path, text: 'is not allowed' }];
      return [
        issue.expected.startsWith("'")
          ? notOneOf(root, path, valuesIn(issue.expected))
          : wrongKind(root, path, [KINDS[issue.expected] ?? issue.expected]),
      ];
    case 'invalid_date':
      return [wrongKind(root, path, ['date'])];
    case 'invalid_literal':
      return [notOneOf(root, path, [issue.expected])];
    case 'invalid_enum_value':
    case 'invalid_union_discriminator':
      return [notOneOf(root, path, issue.options)];
    case 'too_small':
      return [outOfRange(path, COUNTED[issue.type], comparison('>', issue), issue.minimum)];
    case 'too_big':
      return [outOfRange(path, COUNTED[issue.type], comparison('<', issue), issue.maximum)];
    case 'not_multiple_of':
      return [{ path, text: `must be a multiple of ${issue.multipleOf}` }];
    case 'not_finite':
      return [{ path, text: 'must be finite' }];
    case 'invalid_string':
      return [formatProblem(issue.validation, path)];
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownProperty(path, key));
    case 'invalid_union':
      return fitsNoBranch(
        root,
        path,
        issue.unionErrors.map((error) => zod3Problems(error.issues, root)),
      );
    default:
      return [{ path, text: 'is not valid' }];
  }
}

/** Zod 3 has the values of an enum as text only where not even their type is right. */
function valuesIn(expected: string): string[] {
  return expected.split(' | ').map((value) => value.replace(/^'(.*)'$/s, '$1'));
}

function comparison(sign: string, { exact, inclusive }: { exact?: boolean; inclusive: boolean }): string {
  if (exact) return '=';
  return inclusive ? `${sign}=` : sign;
}

function formatProblem(validation: z.ZodInvalidStringIssue['validation'], path: Path): Problem {
  // Zod 3 doesn't hand out the pattern.
  if (validation === 'regex') return { path, text: 'must match the pattern' };
  if (typeof validation === 'string') return wrongFormat(path, FORMATS[validation] ?? validation);
  if ('startsWith' in validation)
    return { path, text: `must start with ${JSON.stringify(validation.startsWith)}` };
  if ('endsWith' in validation) return { path, text: `must end with ${JSON.stringify(validation.endsWith)}` };
  return { path, text: `must contain ${JSON.stringify(validation.includes)}` };
}
