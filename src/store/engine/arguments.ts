/** @throws TypeError where `value` is given and is no whole number from 0. */
export function checkWhole(field: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  throw new TypeError(
    `${field}: ${JSON.stringify(value)} is no whole number; use one from 0, or leave it out`,
  );
}

/** The last one that a JavaScript `Date` can hold; PostgreSQL's go further. */
const LAST_TIME = 8.64e15;

/** @throws TypeError where `value` is given and is no time in milliseconds since the epoch. */
export function checkTime(field: string, value: number | undefined): void {
  if (value === undefined || Math.abs(value) <= LAST_TIME) return;
  throw new TypeError(`${field}: ${value} is no time; use milliseconds since the epoch`);
}

const LONGEST_SHOWN = 80;

/** A name or an id for an error's message: quoted, and cut where it is long. */
export function shownName(name: string): string {
  if (name.length <= LONGEST_SHOWN) return JSON.stringify(name);
  const start = name.slice(0, LONGEST_SHOWN).toWellFormed();
  return `${JSON.stringify(start)}… (${name.length} characters)`;
}
