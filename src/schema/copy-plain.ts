/** A deep copy of lists and plain objects, unfrozen and not shared. Other values (functions, instances of classes) are the same ones. */
export function copyPlain<T>(value: T): T;
export function copyPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyPlain);
  if (!isPlain(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const member: unknown = copyPlain((value as Record<string, unknown>)[key]);
    // An assignment to `__proto__` would set the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { ...OWN, value: member });
    else copy[key] = member;
  }
  return copy;
}

const OWN = { configurable: true, enumerable: true, writable: true };

export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const REFERENCE = 8;
const OBJECT = 56;
const STRING = 24;

/**
 * Freezes a JSON value with all that it holds and returns about how many bytes of memory it takes: the UTF-8 bytes of
 * its texts, and a flat rate for each object, field and text. A value that was frozen before counts as nothing.
 */
export function freezeDeep(root: unknown): number {
  let bytes = 0;
  const rest: unknown[] = [root];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === 'string') {
      bytes += STRING + Buffer.byteLength(value);
    } else if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
      Object.freeze(value);
      const fields = Object.values(value);
      bytes += OBJECT + fields.length * REFERENCE;
      for (const field of fields) rest.push(field);
    }
  }
  return bytes;
}

/** A record without its fields that are null: that is how others write what isn't there. The record itself where it has none. */
export function presentFields<T extends object>(record: T): T {
  const fields = Object.entries(record);
  const present = fields.filter(([, value]) => value !== null);
  return present.length === fields.length ? record : (Object.fromEntries(present) as T);
}
