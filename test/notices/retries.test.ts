import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayOf } from '../../activities/notices/notice-failure.ts';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';

const HOUR = 3_600_000;
const MONTH = 30 * 24 * HOUR;

test('a notice is tried again after twice as long each time, and not before whoever is told wants it [notice.outlives]', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.option(fc.double({ min: 0, max: 1e15, noNaN: true }), { nil: undefined }),
      (attempt, retryAfter) => {
        const error = new NoticeFailed('down', retryAfter === undefined ? {} : { retryAfter });
        const delay = delayOf(attempt, error);
        const least = Math.max(Math.min(1_000 * 2 ** (attempt - 1), HOUR), Math.min(retryAfter ?? 0, MONTH));
        expect(delay).toBeGreaterThanOrEqual(least);
        expect(delay).toBeLessThanOrEqual(Math.ceil(least + Math.min(least * 0.2, HOUR / 6)));
      },
    ),
  );
});

test('those that fail together are not tried together [notice.outlives]', () => {
  const delays = Array.from({ length: 50 }, () => delayOf(5, new Error('down')));
  expect(new Set(delays).size).toBeGreaterThan(10);
});
