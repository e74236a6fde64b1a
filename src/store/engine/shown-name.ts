const LONGEST_SHOWN = 80;

/** A name or an id for an error's message: quoted, and cut where it is long. */
export function shownName(name: string): string {
  if (name.length <= LONGEST_SHOWN) return JSON.stringify(name);
  const start = name.slice(0, LONGEST_SHOWN).toWellFormed();
  return `${JSON.stringify(start)}… (${name.length} characters)`;
}
