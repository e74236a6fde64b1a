import { type MetricMeter, noopMetricMeter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { TurnMetrics } from '../../activities/telemetry/turn-metrics.ts';

test('names and codes that anybody makes up are no end of time series [metrics.prometheus]', () => {
  const seen = { app: new Set<unknown>(), code: new Set<unknown>() };
  const meter: MetricMeter = Object.create(noopMetricMeter, {
    createCounter: {
      value: () => ({
        add: (_value: number, tags: Record<string, unknown>) => {
          seen.app.add(tags.app);
          seen.code.add(tags.code);
        },
      }),
    },
  });
  const metrics = new TurnMetrics(meter);
  for (let number = 0; number < 1_000; number++) {
    const error = { code: number % 2 === 0 ? 'SAFETY' : `key sk-${number}`, message: '' };
    metrics.runEnded({ app: `app-${number}`, agent: 'a', isChild: false }, { status: 'failed', error }, 1);
  }
  expect(seen.code).toEqual(new Set(['SAFETY', '_OTHER']));
  expect(seen.app.size).toBe(201);
  expect(seen.app).toContain('app-0');
  expect(seen.app).toContain('_OTHER');
});
