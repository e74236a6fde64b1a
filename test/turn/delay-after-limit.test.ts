import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayAfterLimit } from '../../activities/model/limits.ts';

test('a step that waits for a limit comes back after it, and soon [limit.model]', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 3_600_000 }), (limit) => {
      const wait = delayAfterLimit(limit);
      expect(wait).toBeGreaterThanOrEqual(limit);
      expect(wait).toBeLessThanOrEqual(limit + Math.max(200, Math.min(limit / 5, 5_000)) + 1);
    }),
  );
});

test('steps that wait for the same limit come back one after another [limit.model]', () => {
  const waits = Array.from({ length: 100 }, () => delayAfterLimit(10_000));
  // Of 100 places in two seconds two thirds are taken; 2 would be a chance of nothing.
  expect(new Set(waits.map((wait) => Math.floor(wait / 20))).size).toBeGreaterThan(30);
});
