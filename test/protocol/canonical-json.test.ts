import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, digestOf } from '../../src/protocol/canonical-json.ts';

const json = fc.jsonValue({ maxDepth: 4 });

/** The same value, the keys of every object in another order. */
function reordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, field]) => [key, reordered(field)]),
  );
}

test('the order of keys makes no difference, at any depth [size.digest]', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonicalJson(reordered(value))).toBe(canonicalJson(value));
      expect(digestOf(reordered(value))).toBe(digestOf(value));
    }),
  );
});

test('any other difference does, the order of a list too [size.digest]', () => {
  fc.assert(
    fc.property(json, json, (one, other) => {
      const plain = JSON.parse(JSON.stringify(one));
      const plainOther = JSON.parse(JSON.stringify(other));
      expect(canonicalJson(plain) === canonicalJson(plainOther)).toBe(
        JSON.stringify(sorted(plain)) === JSON.stringify(sorted(plainOther)),
      );
    }),
  );
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
  expect(canonicalJson({ a: undefined })).toBe('{}');
});

test('it is JSON of the same value [size.digest]', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('keys that JavaScript treats apart are keys like others [size.digest]', () => {
  const value = JSON.parse('{"b":1,"__proto__":{"z":1,"a":2},"10":3,"9":4,"":5}');
  expect(JSON.parse(canonicalJson(value))).toEqual(value);
  expect(canonicalJson(value)).toContain('"__proto__":{"a":2,"z":1}');
});

test('the digest is the SHA-256 of that text, base64url: a fixed vector [size.digest]', () => {
  expect(digestOf({ b: [1, 'é'], a: null })).toBe(
    createHash('sha256').update('{"a":null,"b":[1,"é"]}').digest('base64url'),
  );
  expect(digestOf({})).toBe('RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o');
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, field]) => [key, sorted(field)]);
  return { fields };
}
