import { once } from 'node:events';
import { expect, test } from 'vitest';
import { afterTime, LONGEST_TIMER } from '../../activities/deadline.ts';

test('a time that no timer can wait for does not end at once [tool.timeout]', async () => {
  const far = [afterTime(LONGEST_TIMER), afterTime(LONGEST_TIMER + 1), afterTime(10 * 365 * 86_400_000)];
  await once(afterTime(20).signal, 'abort');
  expect(far.map(({ signal }) => signal.aborted)).toEqual([false, false, false]);
  for (const { clear } of far) clear();
});
