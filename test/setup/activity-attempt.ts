import { Context as ActivityContext, asyncLocalStorage, type Info } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';

/** Runs work in an attempt at an activity that never hears of its cancellation: as in a worker whose event loop stands still. */
export function asAttempt<T>(
  info: Partial<Info>,
  work: () => Promise<T>,
  onBeat: (details: unknown) => void = () => undefined,
): Promise<T> {
  const never = new Promise<never>(() => {});
  const { signal } = new AbortController();
  const logger = new DefaultLogger('ERROR');
  const all = { activityType: 'test', attempt: 1, ...info } as Info;
  const context = new ActivityContext(all, never, signal, onBeat, undefined, logger, noopMetricMeter, {});
  return asyncLocalStorage.run(context, work);
}
