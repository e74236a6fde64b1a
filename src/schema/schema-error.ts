/** A schema is wrong at `path`. Callers know whose schema it is and say so in a `DefinitionError`. */
export class SchemaError extends Error {
  readonly code = 'HOLDFAST_SCHEMA';
  override readonly name = 'SchemaError';
  readonly path: readonly PropertyKey[];

  constructor(path: readonly PropertyKey[], problem: string, options?: ErrorOptions) {
    super(problem, options);
    this.path = path;
  }
}
