import { describe, expect, test } from 'vitest';
import { outlineOf, queryJson } from '../../src/artifacts/json-path.ts';
import { processorTime } from '../setup/processor-time.ts';

const orders = {
  orders: [
    { id: 'FH-1', total: 30, items: [{ sku: 'a' }] },
    { id: 'FH-2', total: 130, items: [] },
    { id: 'X-3', total: 230, note: null },
  ],
};

function valuesAt(path: string): unknown[] {
  const found = queryJson(orders, path, 10);
  return 'problem' in found ? [found.problem] : found.matches.map(({ value }) => value);
}

describe('a JSONPath', () => {
  test.each<[string, unknown[]]>([
    ['$.orders[?@.total > 100 && @.total < 200].id', ['FH-2']],
    ['$.orders[?@.total > 20 && @.total > 100 && @.total < 200].id', ['FH-2']],
    ["$.orders[?match(@.id, 'FH-[0-9]')].id", ['FH-1', 'FH-2']],
    ["$.orders[?search(@.id, 'H')].id", ['FH-1', 'FH-2']],
    ["$.orders[?!match(@.id, 'FH')].id", ['FH-1', 'FH-2', 'X-3']],
    ['$..sku', ['a']],
    ['$.orders[-1:].total', [230]],
    ['$.orders[?length(@.items) == 0].id', ['FH-2']],
    ['$.orders[?@.note == null].id', ['X-3']],
    ['$.none', []],
  ])('finds %s [spool.jsonpath]', (path, values) => {
    expect(valuesAt(path)).toEqual(values);
  });

  test('names each place, and stops at the limit [spool.jsonpath]', () => {
    expect(queryJson(orders, '$.orders[*].id', 2)).toEqual({
      matches: [
        { path: "$['orders'][0]['id']", value: 'FH-1' },
        { path: "$['orders'][1]['id']", value: 'FH-2' },
      ],
      isCut: true,
    });
  });

  test.each(['orders', '$[', '$.a[?', `$${'.a'.repeat(300)}`, '$[?match(@.a)]'])(
    'is refused: %s [spool.jsonpath]',
    (path) => {
      expect(queryJson(orders, path, 10)).toEqual({ problem: expect.any(String) });
    },
  );

  test.each([
    ['$..*..*..*', 'descendants of descendants'],
    ['$..[?@..[?@..[?@.none]]]', 'nested filters'],
    ["$..[?match(@.text, '(a+)+$')]", 'a pattern that others backtrack over'],
  ])('takes bounded time: %s [spool.jsonpath]', (path) => {
    const wide = {
      rows: Array.from({ length: 3_000 }, (_, id) => ({
        id,
        text: `${'a'.repeat(40)}!`,
        in: [{ a: [1, [2]] }],
      })),
    };
    const took = processorTime();
    queryJson(wide, path, 1_000);
    expect(took()).toBeLessThan(8_000);
  });

  const texts = Array.from({ length: 2_000 }, (_, n) => `c${n.toString(2).padEnd(4_000, 'ab')}`);
  const copy = (text: string): string => JSON.parse(JSON.stringify(text));
  const long = 'q'.repeat(300_000);
  test.each([
    ["$.a[?search(@, '(?:[ab]?){160}[ab]{160}c')]", { a: texts }],
    ["$.a[?search($.long, '(?:[ab]?){160}[ab]{160}c')]", { a: texts, long }],
    ["$.a[?search('x', @)]", { a: texts.map((text) => text.slice(0, 400)) }],
    ['$.a[?$.x == $.y]', { a: Array.from({ length: 10_000 }, () => 1), x: long, y: copy(long) }],
    [
      '$.a[?$.x == $.y]',
      { a: Array.from({ length: 10_000 }, () => 1), x: { long }, y: { long: copy(long) } },
    ],
    [`$.a[?'${'a'.repeat(230)}'=='${'b'.repeat(230)}']`, { a: Array(500_000).fill(1) }],
  ])('is refused for its work: %s [spool.jsonpath]', (path, document) => {
    expect(queryJson(document, path, 10)).toEqual({
      problem: expect.stringMatching(/^the path takes more than 100000000 steps; name fewer places/),
    });
  });

  test.each(["$.a[?search(@, '(?:[ab]?){900}[ab]{900}c')]", "$.a[?match(@, '(?=a)a')]"])(
    'is refused for its pattern: %s [spool.jsonpath]',
    (path) => {
      expect(queryJson({ a: ['a'] }, path, 10)).toEqual({
        problem: expect.stringContaining('at most 500 steps with its repetitions written out'),
      });
    },
  );
});

test('an outline has the shape of a document [spool.schema]', () => {
  expect(outlineOf(orders)).toEqual({
    type: 'object',
    properties: {
      orders: {
        type: 'array',
        minItems: 3,
        maxItems: 3,
        items: {
          type: 'object',
          properties: {
            id: { type: 'string' },
            total: { type: 'integer' },
            items: {
              type: 'array',
              minItems: 0,
              maxItems: 1,
              items: { type: 'object', properties: { sku: { type: 'string' } }, required: ['sku'] },
            },
            note: { type: 'null' },
          },
          required: ['id', 'total'],
        },
      },
    },
    required: ['orders'],
  });
  const wide = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`k${n}`, n]));
  expect(outlineOf(wide)).toMatchObject({ $comment: 'and 40 more' });
});
