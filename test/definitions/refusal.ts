import { DefinitionError } from '../../src/schema/definition-error.ts';

/** The `DefinitionError` that `action` throws. */
export function refusal(action: () => unknown): DefinitionError {
  try {
    action();
  } catch (error) {
    if (error instanceof DefinitionError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}
