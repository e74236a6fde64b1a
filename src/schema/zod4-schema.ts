import { z } from 'zod';
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

/** As {@link validateWithZod4}, at once. @throws Error for a schema that waits for something. */
export function checkWithZod4(schema: z.core.$ZodType, value: unknown): Validation {
  const result = z.core.safeParse(schema, value, { error: () => NO_MESSAGE });
  if (result.success) return { ok: true, value: result.data };
  return refused(zod4Problems(result.error.issues, value));
}

/** Message of an issue without one from the schema's author. Authors can't type it by accident. */
export const NO_MESSAGE = '\u0000holdfast';

const COUNTED: Record<string, string> = {
  string: 'character',
  array: 'item',
  set: 'item',
  map: 'item',
  object: 'property',
};

const KINDS: Record<string, string> = {
  int: 'integer',
  record: 'object',
  map: 'object',
  tuple: 'array',
  set: 'array',
};

const FORMATS: Record<string, string> = { datetime: 'date-time', url: 'uri', guid: 'uuid' };

function zod4Problems(issues: readonly z.core.$ZodIssue[], root: unknown, base: Path = []): Problem[] {
  return issues.flatMap((issue) => problemsOf(issue, root, [...base, ...issue.path]));
}

function problemsOf(issue: z.core.$ZodIssue, root: unknown, path: Path): Problem[] {
  if (issue.message !== NO_MESSAGE) return [{ path, text: issue.message }];
  switch (issue.code) {
    case 'invalid_type':
      if (issue.expected === 'never') return [{ path, text: 'is not allowed' }];
      return [wrongKind(root, path, [KINDS[issue.expected] ?? issue.expected])];
    case 'invalid_value':
      return [notOneOf(root, path, issue.values)];
    case 'too_small':
      return [outOfRange(path, COUNTED[issue.origin], comparison('>', issue), issue.minimum)];
    case 'too_big':
      return [outOfRange(path, COUNTED[issue.origin], comparison('<', issue), issue.maximum)];
    case 'not_multiple_of':
      return [{ path, text: `must be a multiple of ${issue.divisor}` }];
    case 'invalid_format':
      return [formatProblem(issue, path)];
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownProperty(path, key));
    case 'invalid_union':
      return unionProblems(issue, root, path);
    case 'invalid_key':
    case 'invalid_element':
      return zod4Problems(issue.issues, root, path);
    default:
      return [{ path, text: 'is not valid' }];
  }
}

function comparison(sign: string, { exact, inclusive }: { exact?: boolean; inclusive?: boolean }): string {
  if (exact) return '=';
  return inclusive === false ? sign : `${sign}=`;
}

function formatProblem(issue: z.core.$ZodIssueInvalidStringFormat, path: Path): Problem {
  const details = issue as z.core.$ZodIssueInvalidStringFormat & Record<string, unknown>;
  switch (issue.format) {
    case 'regex':
    case 'template_literal':
      return { path, text: `must match pattern ${withoutSlashes(issue.pattern ?? '')}` };
    case 'starts_with':
      return { path, text: `must start with ${JSON.stringify(details.prefix)}` };
    case 'ends_with':
      return { path, text: `must end with ${JSON.stringify(details.suffix)}` };
    case 'includes':
      return { path, text: `must contain ${JSON.stringify(details.includes)}` };
    default:
      return wrongFormat(path, FORMATS[issue.format] ?? issue.format);
  }
}

function withoutSlashes(pattern: string): string {
  return /^\/(.*)\/[a-z]*$/s.exec(pattern)?.[1] ?? pattern;
}

function unionProblems(issue: z.core.$ZodIssueInvalidUnion, root: unknown, path: Path): Problem[] {
  if (issue.inclusive === false) return [{ path, text: 'fits more than one of the allowed shapes' }];
  if (issue.discriminator !== undefined && issue.errors.length === 0) {
    const at = path.at(-1) === issue.discriminator ? path : [...path, issue.discriminator];
    return [
      issue.options === undefined ? { path: at, text: 'is not valid' } : notOneOf(root, at, issue.options),
    ];
  }
  return fitsNoBranch(
    root,
    path,
    issue.errors.map((issues) => zod4Problems(issues, root, path)),
  );
}
