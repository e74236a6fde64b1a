import { MASK } from '../approvals/sensitive.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import { type Carried, INLINE_LIMIT, type Reference } from '../protocol/sizes.ts';
import { excerpt } from '../protocol/visible-text.ts';

const GIST_CHARACTERS = 60;

/**
 * The form in which the history carries a value of the ledger: the value itself up to 4 KiB of JSON, else a reference.
 *
 * @param key ledger key under which the content is read again.
 * @param sensitive keeps the value, and any excerpt of it, out of the history.
 */
export function carry<T>(key: string, value: T, sensitive = false): Carried<T> {
  const json = JSON.stringify(value);
  if (!sensitive && Buffer.byteLength(json) <= INLINE_LIMIT) return { value };
  return { ref: referenceTo(key, value, json, sensitive) };
}

export function referenceTo(key: string, value: unknown, json: string, sensitive: boolean): Reference {
  return {
    key,
    // A digest of a short secret can be guessed by trying; the key already names the content.
    digest: sensitive ? '' : digestOf(value),
    bytes: Buffer.byteLength(json),
    gist: sensitive ? MASK : excerpt(json, GIST_CHARACTERS),
  };
}

/** The longest beginning of `text` that has at most `limit` bytes of UTF-8, well-formed, with `…` where it was cut. */
export function cutToBytes(text: string, limit: number): string {
  const whole = text.slice(0, limit + 1).toWellFormed();
  if (whole.length === text.length && Buffer.byteLength(whole) <= limit) return whole;
  let bytes = Buffer.byteLength('…');
  let kept = '';
  for (const character of whole) {
    bytes += Buffer.byteLength(character);
    if (bytes > limit) break;
    kept += character;
  }
  return `${kept}…`;
}
