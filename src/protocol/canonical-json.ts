import { sha256Digest } from './identity.ts';

/** JSON without white space and with object keys in order, so that equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) => {
    if (typeof field !== 'object' || field === null || Array.isArray(field)) return field;
    const record = field as Record<string, unknown>;
    return Object.fromEntries(
      Object.keys(record)
        .sort()
        .map((key) => [key, record[key]]),
    );
  });
}

/**
 * SHA-256, base64url, of the canonical JSON of a value: without white space, with the keys of each object sorted by UTF-16 code units,
 * those that are whole numbers before all others. Attestations sign such digests, for example a request's `argsDigest`.
 *
 * @throws TypeError for a value that is no JSON: a cycle, a BigInt.
 * @example digestOf({ to: 'ada', amount: 40 }) === digestOf({ amount: 40, to: 'ada' }); // true
 */
export function digestOf(value: unknown): string {
  return sha256Digest(canonicalJson(value));
}
