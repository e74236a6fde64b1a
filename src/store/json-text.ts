const SUSPECT = /\\u0000|\\ud[89a-f]/;
const ESCAPES = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;
const UNSTORABLE_ESCAPE = /^\\u/;
const STORABLE_CONTROL = /^\\u00(?!00)/;

/**
 * JSON of `value` as PostgreSQL can hold it: NUL characters and lone surrogates, in strings and in keys, become U+FFFD.
 * `undefined` is `null`.
 *
 * @throws TypeError for a BigInt or a cycle, as JSON.stringify does.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return SUSPECT.test(text) ? text.replace(ESCAPES, storable) : text;
}

function storable(escape: string): string {
  return UNSTORABLE_ESCAPE.test(escape) && !STORABLE_CONTROL.test(escape) ? '\ufffd' : escape;
}
