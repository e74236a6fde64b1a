import { Unstorable } from '../store-errors.ts';

const SUSPECT = /\\u0000|\\ud[89a-f]/;
const ESCAPES = /\\(?:u0000|ud[89a-f][0-9a-f]{2}|.)/g;

/**
 * JSON of `value` as PostgreSQL can hold it: NUL characters and lone surrogates, in strings and in keys, become U+FFFD.
 * `undefined` is `null`.
 *
 * @throws Unstorable for a cycle, a BigInt, a value nested too deeply, a `toJSON` that throws.
 */
export function jsonText(value: unknown): string {
  const text = stringified(value) ?? 'null';
  if (!SUSPECT.test(text)) return text;
  return text.replace(ESCAPES, (escaped) => (escaped.length > 2 ? '\ufffd' : escaped));
}

/** JSON as it comes back from the store. */
export function asStored<Value>(value: Value): Value {
  return JSON.parse(jsonText(value)) as Value;
}

function stringified(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch (error) {
    const reason = error instanceof RangeError ? 'it is nested too deeply' : (error as Error).message;
    throw new Unstorable(`a value can't be written as JSON: ${reason}`, { cause: error });
  }
}

/** One document of many: an array parameter of JSON costs pg ten times as much to escape. */
export function jsonArray(texts: readonly (string | null)[]): string {
  return `[${texts.map((text) => text ?? 'null').join(',')}]`;
}

/** Plain text as PostgreSQL can hold it: what `jsonText` does to strings. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** JSON of the parts after a response; null if there are no parts. */
export function partsText(parts: readonly unknown[] | undefined): string | null {
  return parts === undefined || parts.length === 0 ? null : jsonText(parts);
}
