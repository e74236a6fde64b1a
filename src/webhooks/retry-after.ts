const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The header `Retry-After`: seconds, or a date.
 *
 * @param now by the store's clock, milliseconds since the epoch.
 * @returns milliseconds; undefined where it says neither.
 */
export function retryAfterOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  // Other texts are dates to the platform, too: `-7` is one of the year 2001.
  const date = HTTP_DATE.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
