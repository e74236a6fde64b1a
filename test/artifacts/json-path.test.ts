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
