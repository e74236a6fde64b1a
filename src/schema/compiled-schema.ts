import type { Validation } from './validation.ts';

/** A schema of any kind, ready for use. */
export interface CompiledSchema {
  /** What the model is shown: frozen, without `$schema`, references inlined except for recursive ones. */
  readonly jsonSchema: JsonSchemaObject;
  /** Resolves with the value as the schema makes it (zod's defaults and transforms applied), or what is wrong with it. */
  validate(value: unknown): Promise<Validation>;
}

export type JsonSchemaObject = { readonly [keyword: string]: unknown };

/** Where a schema stands, for errors about it. */
export interface SchemaSite {
  owner: string;
  /** `parameters`, `outputSchema`. */
  field: string;
  /** For a schema that transforms: what goes in, or what comes out. */
  side: 'input' | 'output';
  /**
   * Somebody else may have written it: a model, a server, a person. As JSON Schema it is kept to bounds, no pattern of it runs in an
   * engine that backtracks, and to check a value has an end. Zod schemas are code, and nobody else's.
   */
  isOutside?: boolean;
}
