import { inspect } from 'node:util';

/** A value as JSON, for people and models to read; callbacks may have put anything into it. */
export function shownJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'undefined';
  } catch {
    // What JSON has no form of is shown as Node shows it.
    return inspect(value, { breakLength: Infinity, compact: true, depth: 4 });
  }
}
