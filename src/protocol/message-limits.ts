/** Characters of a message id or an agent's name, at most. */
export const LONGEST_NAME = 1_000;

/** Levels of objects and lists in a message, at most: every side can walk it then, whatever its stack. */
export const MOST_LEVELS = 100;

/** Whether objects and lists are nested in more than {@link MOST_LEVELS} levels. Doesn't recurse. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const inner: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      for (const field of Object.values(one))
        if (typeof field === 'object' && field !== null) inner.push(field);
    }
    if (depth > MOST_LEVELS) return true;
    level = inner;
  }
  return false;
}

/** What is wrong with a name that people or programs gave; undefined where nothing is. */
export function nameProblem(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return `${name.length} characters, at most ${LONGEST_NAME} are allowed`;
  if (name.includes('\0')) return 'a NUL character, which no database keeps: leave it out';
  if (!name.isWellFormed()) return 'a lone surrogate: use well-formed Unicode text';
  return undefined;
}
