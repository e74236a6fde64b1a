/** @throws TypeError where `value` is given and is no whole number from 0. */
export function checkWhole(field: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  throw new TypeError(
    `${field}: ${JSON.stringify(value)} is no whole number; use one from 0, or leave it out`,
  );
}

/**
 * PostgreSQL's times go further than those of a JavaScript `Date`.
 *
 * @throws TypeError where `value` is given and is no time in milliseconds since the epoch.
 */
export function checkTime(field: string, value: number | undefined): void {
  if (value === undefined || Number.isFinite(new Date(Number(value)).getTime())) return;
  throw new TypeError(`${field}: ${value} is no time; use milliseconds since the epoch`);
}

const LONGEST_SHOWN = 80;

/** A name or an id for an error's message: quoted, and cut where it is long. */
export function shownName(name: string): string {
  if (name.length <= LONGEST_SHOWN) return JSON.stringify(name);
  const start = name.slice(0, LONGEST_SHOWN).toWellFormed();
  return `${JSON.stringify(start)}… (${name.length} characters)`;
}
