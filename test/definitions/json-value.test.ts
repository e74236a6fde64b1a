import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonValueError, toJsonValue } from '../../src/schema/json-value.ts';

function problem(value: unknown): string {
  try {
    toJsonValue(value);
  } catch (error) {
    if (error instanceof JsonValueError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('takes values as JSON.stringify does [tool.result]', () => {
  const roundTrip = (value: unknown) => JSON.parse(JSON.stringify(value));

  test('any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(toJsonValue(value)).toEqual(roundTrip(value));
      }),
    );
  });

  test('dates, undefined members, boxed and odd numbers, sparse arrays', () => {
    const values = fc.oneof(
      fc.double(),
      fc.date({ noInvalidDate: false }),
      fc.constant(undefined),
      fc.string().map(Object),
      fc.integer().map(Object),
      fc.sparseArray(fc.string(), { maxLength: 5 }),
    );
    fc.assert(
      fc.property(fc.object({ values: [values], withNullPrototype: true, maxDepth: 3 }), (value) => {
        expect(toJsonValue(value)).toEqual(roundTrip(value));
      }),
    );
  });

  test('class instances by their own fields, toJSON with its key', () => {
    class Money {
      readonly cents = 5;
      get euros() {
        return this.cents / 100;
      }
    }
    const keyed = { toJSON: (key: string) => `at ${key}` };
    expect(toJsonValue({ money: new Money(), keyed, list: [keyed] })).toEqual({
      money: { cents: 5 },
      keyed: 'at keyed',
      list: ['at 0'],
    });
    expect(toJsonValue(keyed)).toBe('at ');
  });

  test('a key __proto__ stays a key', () => {
    const copy = toJsonValue(JSON.parse('{"__proto__": {"admin": true}}')) as object;
    expect(Object.keys(copy)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
  });

  test('the same object twice is no cycle', () => {
    const shared = { a: 1 };
    expect(toJsonValue([shared, { shared }])).toEqual([{ a: 1 }, { shared: { a: 1 } }]);
  });

  test('undefined', () => expect(toJsonValue(undefined)).toBeUndefined());
});

describe('refuses what JSON would lose, naming the path [tool.result]', () => {
  const cyclic: Record<string, unknown> = { items: [{}] };
  cyclic.items = [{ back: cyclic }];
  const getter = {
    get price(): number {
      throw new Error('s3cret');
    },
  };
  const throwing = {
    toJSON() {
      throw new TypeError('s3cret');
    },
  };
  test.each<[string, unknown, string]>([
    ['bigint', { a: [1n] }, 'a[0]: JSON has no bigint; give a number or a string'],
    ['bigint itself', 1n, 'JSON has no bigint; give a number or a string'],
    ['function', { run: () => 1 }, 'run: JSON has no function; leave it out'],
    ['symbol', [Symbol('s')], '[0]: JSON has no symbol; leave it out'],
    ['cycle', cyclic, 'items[0].back: refers back to an object that contains it'],
    ['Map', { m: new Map() }, 'm: JSON has no Map; give Object.fromEntries(map)'],
    ['Set', new Set(), 'JSON has no Set; give [...set]'],
    ['promise', { 'odd key': Promise.resolve() }, '["odd key"]: a promise; await it first'],
    ['error', { e: new Error('s3cret') }, 'e: an Error as a value; throw it, or give its message'],
    ['bytes', { b: new Uint8Array(2) }, 'b: JSON has no binary data; give a base64 string'],
    [
      'a buffer, whatever its toJSON says',
      { b: Buffer.from('a') },
      'b: JSON has no binary data; give a base64 string',
    ],
    ['a generator', { g: (function* () {})() }, 'g: a generator; give the values that it yields'],
    ['an async one', (async function* () {})(), 'a generator; give the values that it yields'],
    ['getter', { order: getter }, 'order.price: reading it threw (Error)'],
    ['toJSON', { order: throwing }, 'order: toJSON threw (TypeError)'],
  ])('%s', (_, value, message) => expect(problem(value)).toBe(message));

  test('endless nesting', () => {
    let nested: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) nested = [nested];
    expect(problem(nested)).toContain('nested in more than 200 levels');
  });

  test('proxies that throw', () => {
    const proxy = new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('no');
        },
      },
    );
    expect(problem({ proxy })).toBe('proxy: reading it threw (Error)');
  });

  test('bigints with a toJSON of the program', () => {
    const prototype = BigInt.prototype as unknown as { toJSON?: () => string };
    prototype.toJSON = function () {
      return String(this);
    };
    try {
      expect(toJsonValue({ n: 12n })).toEqual({ n: '12' });
    } finally {
      delete prototype.toJSON;
    }
  });
});
