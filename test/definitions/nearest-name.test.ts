import { expect, test } from 'vitest';
import { nearestName } from '../../src/schema/known-fields.ts';

test.each<[string, string | undefined]>([
  ['timeout', 'timeout'],
  ['Timeout', 'timeout'],
  ['time_out', 'timeout'],
  ['tmieout', 'timeout'],
  ['retries', 'retry'],
  ['r', undefined],
  ['something else', undefined],
  ['', undefined],
])('%s: %s [cli.input]', (name, nearest) => {
  expect(nearestName(name, ['timeout', 'retry', 'summary'])).toBe(nearest);
});
