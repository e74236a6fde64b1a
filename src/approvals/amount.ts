/** `cents`, `amount_cents`, `priceInCents`. */
const IN_CENTS = /(^c|[_-]c|C)ents?$/;

/** `129.00` for the number of an argument that counts cents: the hint's unit, beside what the tool gets. Undefined for others. */
export function amountOf(name: string, value: unknown): string | undefined {
  if (!IN_CENTS.test(name) || typeof value !== 'number' || !Number.isSafeInteger(value)) return undefined;
  const digits = String(Math.abs(value)).padStart(3, '0');
  return `${value < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
