import { excerpt } from '../protocol/visible-text.ts';
export type Path = readonly PropertyKey[];

const PLAIN_NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$-]*$/u;
const LONGEST_NAME = 64;

/**
 * Writes a path as one reads it in code.
 *
 * @example formatPath(['items', 2, 'unit price']) // items[2]["unit price"]
 */
export function formatPath(path: Path): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (typeof key === 'symbol') text += `[${String(key)}]`;
    else if (PLAIN_NAME.test(key)) text += `${text === '' ? '' : '.'}${excerpt(key, LONGEST_NAME)}`;
    else text += `[${JSON.stringify(excerpt(key, LONGEST_NAME))}]`;
  }
  return text;
}

/** The value at `path` of `root`, or undefined. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

/** Numbers by size, then names by code unit: an order that doesn't depend on who found the problems. */
export function comparePaths(left: Path, right: Path): number {
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const order = compareKeys(left[index], right[index]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareKeys(left: PropertyKey | undefined, right: PropertyKey | undefined): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  const [a, b] = [String(left), String(right)];
  return a < b ? -1 : a > b ? 1 : 0;
}
