import type { Schema } from '@google/genai';
import type { z as z4 } from 'zod';
import type { z as z3 } from 'zod/v3';

/**
 * Type of the values that a literal JSON Schema, or the provider's `Schema`, describes: types, enums, constants,
 * unions, arrays, properties. A value that it can't derive is `unknown`.
 */
type FromJsonSchema<S> = S extends { readonly const: infer Value }
  ? Value
  : S extends { readonly enum: readonly (infer Value)[] }
    ? Value | NullOf<S>
    : S extends { readonly anyOf: readonly (infer Branch)[] } | { readonly oneOf: readonly (infer Branch)[] }
      ? FromJsonSchema<Branch>
      : S extends { readonly type: infer Type }
        ? (Type extends readonly (infer Member)[] ? FromType<Member, S> : FromType<Type, S>) | NullOf<S>
        : unknown;

type NullOf<S> = S extends { readonly nullable: true } ? null : never;

type FromType<Type, S> =
  Lowercase<`${Type & string}`> extends infer Name
    ? Name extends 'string'
      ? string
      : Name extends 'number' | 'integer'
        ? number
        : Name extends 'boolean'
          ? boolean
          : Name extends 'null'
            ? null
            : Name extends 'array'
              ? S extends { readonly items: infer Item }
                ? FromJsonSchema<Item>[]
                : unknown[]
              : Name extends 'object'
                ? FromProperties<S>
                : unknown
    : never;

type FromProperties<S> = S extends { readonly properties: infer Properties }
  ? string extends keyof Properties
    ? Record<string, unknown>
    : Flat<
        { -readonly [Name in keyof Properties & RequiredOf<S>]: FromJsonSchema<Properties[Name]> } & {
          -readonly [Name in Exclude<keyof Properties, RequiredOf<S>>]?: FromJsonSchema<Properties[Name]>;
        }
      >
  : S extends { readonly additionalProperties: infer Member }
    ? Record<string, Member extends object ? FromJsonSchema<Member> : unknown>
    : Record<string, unknown>;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type Flat<T> = { [Name in keyof T]: T[Name] };

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

/** Type of a value that the schema takes. */
export type SchemaInput<S> = S extends z4.core.$ZodType
  ? z4.input<S>
  : S extends z3.ZodTypeAny
    ? z3.input<S>
    : FromJsonSchema<S>;

/** Type of a value that the schema returns: defaults filled in, transforms applied. */
export type SchemaOutput<S> = S extends z4.core.$ZodType
  ? z4.output<S>
  : S extends z3.ZodTypeAny
    ? z3.output<S>
    : FromJsonSchema<S>;
