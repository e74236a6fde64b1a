import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Batch } from '../../src/store/engine/batch.ts';

interface Item {
  key: string;
  bytes: number;
  bad?: boolean;
}

function recording(separable = true) {
  const flushes: Item[][] = [];
  const batch = new Batch<Item, Item>({
    key: ({ key }) => key,
    bytes: ({ bytes }) => bytes,
    run: async (items) => {
      flushes.push([...items]);
      await new Promise((resume) => setImmediate(resume));
      if (items.some(({ bad }) => bad)) throw new Error('bad');
      return [...items];
    },
    separable: () => separable,
  });
  return { flushes, batch };
}

test('every item gets its own answer, and a flush is small, of different keys, and in order', async () => {
  const item = fc.record({
    key: fc.constantFrom(...'abcdefgh'),
    bytes: fc.integer({ min: 1, max: 700_000 }),
    bad: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(item, { maxLength: 150 }), async (items) => {
      const { flushes, batch } = recording();
      const results = await Promise.allSettled(items.map((one) => batch.add(one)));
      for (const [index, result] of results.entries()) {
        if (items[index]?.bad) expect(result.status).toBe('rejected');
        else expect(result).toMatchObject({ value: items[index] });
      }
      for (const flush of flushes) {
        expect(new Set(flush.map(({ key }) => key)).size).toBe(flush.length);
        const sum = flush.reduce((total, { bytes }) => total + bytes, 0);
        expect(flush.length === 1 || sum <= 1024 * 1024).toBe(true);
      }
      for (const key of 'abcdefgh') {
        const order = flushes
          .flat()
          .filter((one, index, all) => one.key === key && all.indexOf(one) === index);
        expect(order).toEqual(items.filter((one) => one.key === key));
      }
    }),
    { numRuns: 50 },
  );
});

test('what comes while a flush is under way shares the next one, 64 at most', async () => {
  const { flushes, batch } = recording();
  const first = batch.add({ key: 'first', bytes: 1 });
  await new Promise((resume) => setImmediate(resume));
  const rest = Array.from({ length: 100 }, (_, index) => batch.add({ key: `${index}`, bytes: 1 }));
  await Promise.all([first, ...rest]);
  expect(flushes.map(({ length }) => length)).toEqual([1, 64, 36]);
});

test('a failure that is not of one item fails them all at once', async () => {
  const { flushes, batch } = recording(false);
  const results = await Promise.allSettled([
    batch.add({ key: 'a', bytes: 1, bad: true }),
    batch.add({ key: 'b', bytes: 1 }),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(flushes).toHaveLength(1);
});
