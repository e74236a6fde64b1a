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
