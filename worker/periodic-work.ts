import type { Worker } from '@temporalio/worker';
import type { HoldfastLogger } from '../activities/logging.ts';
import type { TurnMetrics } from '../activities/telemetry/turn-metrics.ts';
import type { ArtifactBytes } from '../src/artifacts/artifact-bytes.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';
import type { Store } from '../src/store/store.ts';

/** Milliseconds. */
const COLLECTS_EVERY = 10 * 60 * 1000;
const COUNTS_EVERY = 10 * 1000;

export interface PeriodicWork {
  store: Store;
  artifacts: ArtifactBytes;
  /** Undefined where nobody reads metrics. */
  metrics: TurnMetrics | undefined;
  logger: HoldfastLogger;
}

/** Removes bytes that no artifact uses, and counts the turns that wait, while a worker runs. Workers of one store share the removal. */
export function workPeriodically(worker: Worker, { store, artifacts, metrics, logger }: PeriodicWork): void {
  whileRunning(worker, COLLECTS_EVERY, async () => {
    try {
      const { failures } = await artifacts.collect();
      for (const failure of failures) {
        logger.warn('bytes of an artifact were not removed', { reason: thrownMessage(failure) });
      }
    } catch (error) {
      logger.warn('artifacts were not collected', { reason: thrownMessage(error) });
    }
  });
  if (metrics === undefined) return;
  whileRunning(worker, COUNTS_EVERY, async () => {
    try {
      metrics.turnsWait(await store.turns.waiting());
    } catch (error) {
      logger.warn('the turns that wait were not counted', { reason: thrownMessage(error) });
    }
  });
}

/**
 * Repeats work while a worker runs, one piece after the other; the worker's end waits for the piece under way. Workers that were
 * started together take turns. No timer keeps a program up.
 */
function whileRunning(worker: Worker, every: number, work: () => Promise<void>): void {
  const run = worker.run.bind(worker);
  worker.run = async () => {
    let working = Promise.resolve();
    const next = () => {
      working = working.then(work);
    };
    const timer = setInterval(next, every).unref();
    const early = setTimeout(next, Math.ceil(Math.random() * every)).unref();
    try {
      await run();
    } finally {
      clearInterval(timer);
      clearTimeout(early);
      await working;
    }
  };
}
