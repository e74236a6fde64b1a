/**
 * Type of the values that a literal JSON Schema, or the provider's `Schema`, describes: types, enums, constants,
 * unions, arrays, properties. What it can't tell is `unknown`.
 */
export type FromJsonSchema<S> = S extends { readonly const: infer Value }
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
