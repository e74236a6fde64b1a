import { codedError } from '../contract/error.ts';
import { visibleLines } from '../protocol/visible-text.ts';
import { formatPath } from './path.ts';
import { describeProblems, type Problem } from './problems.ts';

/** A schema is wrong at `path`. Callers know whose schema it is and say so in a `DefinitionError`. */
export class SchemaError extends codedError('HOLDFAST_SCHEMA') {
  readonly path: readonly PropertyKey[];

  constructor(path: readonly PropertyKey[], problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.path = path;
  }
}

/** A schema of any kind, ready for use. */
export interface CompiledSchema {
  /** The schema that the model gets: frozen, without `$schema`, references inlined except for recursive ones. */
  readonly jsonSchema: JsonSchemaObject;
  /** Resolves with the value as the schema returns it (zod's defaults and transforms applied), or with its problems. */
  validate(value: unknown): Promise<Validation>;
}

/** Checks of an object's properties, by their names. */
export type FieldChecks = ReadonlyMap<string, (value: unknown) => Validation>;

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

export type Validation =
  | { ok: true; value: unknown }
  | {
      ok: false;
      /** Names each path and the expected value there; no values. */
      message: string;
      problems: readonly Problem[];
    };

export function refused(problems: readonly Problem[]): Validation {
  const ofKind = new Set(
    problems.filter(({ expectedKinds }) => expectedKinds).map(({ path }) => formatPath(path)),
  );
  // Other problems of a value of the wrong kind are not worth telling; zod checks the length of a list where text is wanted.
  const told = problems.filter(({ path, expectedKinds }) => expectedKinds || !ofKind.has(formatPath(path)));
  const found = told.length > 0 ? told : [{ path: [], text: 'is not valid' }];
  return { ok: false, message: visibleLines(describeProblems(found)), problems: found };
}
