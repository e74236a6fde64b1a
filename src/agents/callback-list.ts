import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';

/**
 * The callbacks of a field that takes one or a list of them.
 *
 * @throws DefinitionError naming the field, and the place in the list.
 */
export function callbackList<Callback>(
  owner: string,
  field: string,
  given: Callback | readonly Callback[] | undefined,
): readonly Callback[] {
  if (given === undefined) return [];
  if (typeof given === 'function') return Object.freeze([given as Callback]);
  if (!Array.isArray(given)) {
    const problem = `expected a function or a list of functions, got ${kindOf(given)}`;
    throw new DefinitionError({ owner, field, problem });
  }
  // By index, because an array may have holes.
  for (let index = 0; index < given.length; index += 1) {
    if (typeof given[index] === 'function') continue;
    const problem = `expected a function, got ${kindOf(given[index])}`;
    throw new DefinitionError({ owner, field: `${field}[${index}]`, problem });
  }
  return Object.freeze([...given]);
}
