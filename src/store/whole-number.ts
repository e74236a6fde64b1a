/** @throws TypeError where `value` is given and is no whole number from 0. */
export function checkWhole(field: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  throw new TypeError(
    `${field}: ${JSON.stringify(value)} is no whole number; use one from 0, or leave it out`,
  );
}
