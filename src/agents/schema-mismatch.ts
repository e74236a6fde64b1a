import { codedError } from '../contract/error.ts';
import type { CompiledSchema } from '../schema/compiled-schema.ts';
import type { Problem } from '../schema/problems.ts';

/** A value does not match the `inputSchema` or the `outputSchema` of an agent. */
export class SchemaMismatch extends codedError('HOLDFAST_SCHEMA_MISMATCH') {
  /** What is wrong with which part of the value; nothing of the value itself. */
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[]) {
    super(message);
    this.problems = problems;
  }
}

/**
 * What the schema makes of a value, its defaults and transforms applied; the value itself without a schema.
 *
 * @throws SchemaMismatch
 */
export async function matched(schema: CompiledSchema | undefined, value: unknown): Promise<unknown> {
  if (schema === undefined) return value;
  const validation = await schema.validate(value);
  if (validation.ok) return validation.value;
  throw new SchemaMismatch(validation.message, validation.problems);
}
