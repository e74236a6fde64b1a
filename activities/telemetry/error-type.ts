const OTHER = '_OTHER';
const LONGEST = 64;

/** How codes and names of errors look: `SAFETY`, `ECONNRESET`, `rate_limit`, `TypeError`, `429`. */
const TYPE = /^(?:[A-Z][A-Z0-9_]*|[A-Za-z]+(?:[._][A-Za-z]+)*|\d{3})$/;

/** Models and tools set their errors' codes as they like: what doesn't look like one may quote what must not be told. */
export function errorType(code: unknown): string {
  return typeof code === 'string' && code.length <= LONGEST && TYPE.test(code) ? code : OTHER;
}

/** Of whatever was thrown. */
export function errorTypeOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return OTHER;
    return errorType('code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name);
  } catch {
    // Anything can be thrown: revoked proxies and getters that throw answer no question.
    return OTHER;
  }
}
