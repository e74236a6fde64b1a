import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from './definition-error.ts';
import { kindOf } from './kind-of.ts';

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

/** Characters of names that are compared: the time grows with both, and a longer one is nobody's slip. */
const LONGEST = 200;

/**
 * The name that somebody who wrote `name` most likely meant: at most two in five letters off, case aside.
 *
 * @example nearestName('time_out', ['timeout', 'retry']) // 'timeout'
 */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  if (name.length > LONGEST) return undefined;
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of names) {
    if (candidate.length > LONGEST) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least && distance <= Math.ceil(Math.max(name.length, candidate.length) * 0.4)) {
      nearest = candidate;
      least = distance;
    }
  }
  return nearest;
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const nearest = nearestName(name, names);
  return nearest === undefined ? '' : `; did you mean "${nearest}"?`;
}

/** Letters to add, drop, replace, or swap with their neighbour. */
function editDistance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          at(row - 1, column - 1) + (isSame ? 0 : 1),
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(from.length, to.length);
}
