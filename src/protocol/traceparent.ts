/** Whether a value is a `traceparent` of the W3C's Trace Context, version 00. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value);
}
