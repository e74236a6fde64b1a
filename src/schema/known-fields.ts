import { DefinitionError } from './definition-error.ts';
import { isRecord, kindOf } from './kind-of.ts';
import { didYouMean } from './nearest-name.ts';

/**
 * Refuses anything but an object that has known fields only: a mistyped option would otherwise do nothing.
 *
 * @param unsupported fields that ADK has and Holdfast doesn't, which get a message of their own.
 * @param field where the object stands in its owner.
 */
export function assertKnownFields(
  owner: string,
  value: unknown,
  known: readonly string[],
  { unsupported = [], field = '' }: { unsupported?: readonly string[]; field?: string } = {},
): asserts value is Record<string, unknown> {
  if (!isRecord(value)) {
    throw new DefinitionError({ owner, field, problem: `expected an object, got ${kindOf(value)}` });
  }
  for (const [name, given] of Object.entries(value)) {
    // ADK programs pass options through as undefined.
    if (known.includes(name) || given === undefined) continue;
    throw new DefinitionError({
      owner,
      field: field === '' ? name : `${field}.${name}`,
      problem: unsupported.includes(name)
        ? 'an option of ADK that this release of Holdfast does not have; leave it out'
        : `unknown option${didYouMean(name, known)}`,
    });
  }
}
