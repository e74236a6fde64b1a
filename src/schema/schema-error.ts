import { codedError } from '../contract/error.ts';
/** A schema is wrong at `path`. Callers know whose schema it is and say so in a `DefinitionError`. */
export class SchemaError extends codedError('HOLDFAST_SCHEMA') {
  readonly path: readonly PropertyKey[];

  constructor(path: readonly PropertyKey[], problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.path = path;
  }
}
