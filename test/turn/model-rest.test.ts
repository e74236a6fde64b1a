import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayAfterLimit } from '../../activities/model/limits.ts';

test('who waits for a limit comes back behind it, and soon [limit.model]', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3_600_000 }), (rest) => {
      const wait = delayAfterLimit(rest);
      expect(wait).toBeGreaterThanOrEqual(rest);
      expect(wait).toBeLessThanOrEqual(rest + Math.max(200, Math.min(rest / 5, 5_000)) + 1);
    }),
  );
});

test('those who wait for the same limit come back one after another [limit.model]', () => {
  const waits = Array.from({ length: 100 }, () => delayAfterLimit(10_000));
  // Of 100 places in two seconds two thirds are taken; 2 would be a chance of nothing.
  expect(new Set(waits.map((wait) => Math.floor(wait / 20))).size).toBeGreaterThan(30);
});
