/** Characters of a name, at most, that goes into ids of Temporal's: it refuses the activity of a longer one for ever. */
export const LONGEST_NAME = 1_000;

/** Milliseconds, some 285 years: Temporal's server counts nanoseconds in 64 bits. */
export const LONGEST_TIME = 9e12;

/** JSON bytes of a message's `runConfig.customMetadata`, at most: it travels with every message. */
export const MOST_METADATA_BYTES = 16 * 1024;

/** Levels of objects and lists in a message, at most: every side can walk it then, with any stack size. */
export const MOST_LEVELS = 100;

/** Parts of a message, at most: no side takes long to look at so many. */
export const MOST_PARTS = 10_000;

/** Objects and lists in a message, at most. */
const MOST_NESTED = 500_000;

/** Whether objects and lists are nested in more than {@link MOST_LEVELS} levels, or in a circle. Doesn't recurse. */
export function isTooDeep(value: unknown): boolean {
  return nestingProblem(value) !== undefined;
}

/** The problem of a value with too many objects and lists, or too deep ones; undefined without a problem. */
export function nestingProblem(value: unknown): string | undefined {
  let level = new Set([value]);
  let count = 0;
  for (let depth = 0; level.size > 0; depth += 1) {
    // A set, because an object that holds itself twice would double each level.
    const inner = new Set<unknown>();
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      for (const field of Object.values(one)) {
        if (typeof field === 'object' && field !== null) inner.add(field);
        if (count + inner.size > MOST_NESTED) return `more than ${MOST_NESTED} objects and lists are in it`;
      }
    }
    count += inner.size;
    if (depth > MOST_LEVELS) return `${tooDeepText()}, or in a circle`;
    level = inner;
  }
  return undefined;
}

/** For values that come from JSON, which has no circles. */
export function tooDeepText(levels: number = MOST_LEVELS): string {
  return `objects and lists are nested in more than ${levels} levels`;
}
