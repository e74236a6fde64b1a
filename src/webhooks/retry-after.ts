/**
 * The header `Retry-After`: seconds, or a date.
 *
 * @param now milliseconds since the epoch.
 * @returns milliseconds; undefined where it says neither.
 */
export function retryAfterOf(header: string | undefined, now: number = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(date - now, 0);
}
