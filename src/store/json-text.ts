const SUSPECT = /\\u0000|\\ud[89a-f]/;
const ESCAPES = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;

/**
 * JSON of `value` as PostgreSQL can hold it: NUL characters and lone surrogates, in strings and in keys, become U+FFFD.
 * `undefined` is `null`.
 *
 * @throws TypeError for a BigInt or a cycle, as JSON.stringify does.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  if (!SUSPECT.test(text)) return text;
  return text.replace(ESCAPES, (escaped) => (escaped.length > 2 ? '\ufffd' : escaped));
}

/** Plain text as PostgreSQL can hold it: what `jsonText` does to strings. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
