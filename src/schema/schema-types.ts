import type { Schema } from '@google/genai';
import type { z as z4 } from 'zod';
import type { z as z3 } from 'zod/v3';
import type { FromJsonSchema } from './infer-json-schema.ts';

/**
 * A JSON Schema object, draft 2020-12 or draft-07 (named by `$schema`), or the provider's `Schema` with its types in
 * upper case.
 */
export interface JsonSchema {
  readonly $schema?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | object;
  readonly items?: object | boolean;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly object[];
  readonly oneOf?: readonly object[];
  readonly allOf?: readonly object[];
  readonly $ref?: string;
  readonly $defs?: object;
  readonly definitions?: object;
  /** Keeps zod schemas, which have the fields above too, apart. */
  readonly _zod?: never;
  readonly _def?: never;
}

/** Any schema of a kind that Holdfast takes. */
export type SchemaLike =
  | z4.core.$ZodType
  | z3.ZodTypeAny
  | Schema
  | JsonSchema
  | Readonly<Record<string, unknown>>;

/** What a value must look like that is given to the schema. */
export type SchemaInput<S> = S extends z4.core.$ZodType
  ? z4.input<S>
  : S extends z3.ZodTypeAny
    ? z3.input<S>
    : FromJsonSchema<S>;

/** What the schema makes of a value: defaults filled in, transforms applied. */
export type SchemaOutput<S> = S extends z4.core.$ZodType
  ? z4.output<S>
  : S extends z3.ZodTypeAny
    ? z3.output<S>
    : FromJsonSchema<S>;
