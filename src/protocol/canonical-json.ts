import { sha256Digest } from './identity.ts';

/** JSON with object keys in code point order, so that equal values have equal text. */
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

/** SHA-256 of the canonical JSON, base64url. */
export function digestOf(value: unknown): string {
  return sha256Digest(canonicalJson(value));
}
