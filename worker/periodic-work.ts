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
  const warn = (message: string) => (reason: unknown) =>
    logger.warn(message, { reason: thrownMessage(reason) });
  whileRunning(
    worker,
    COLLECTS_EVERY,
    async () => {
      const { failures } = await artifacts.collect();
      failures.forEach(warn('bytes of an artifact were not removed'));
    },
    warn('artifacts were not collected'),
  );
  if (metrics === undefined) return;
  whileRunning(
    worker,
    COUNTS_EVERY,
    async () => metrics.turnsWait(await store.turns.waiting()),
    warn('the turns that wait were not counted'),
  );
}

/**
 * Repeats work while a worker runs, unless the piece before is still under way; the worker's end waits for it. Workers that were
 * started together take turns. No timer keeps a program up.
 */
function whileRunning(
  worker: Worker,
  every: number,
  work: () => Promise<void>,
  failed: (reason: unknown) => void,
): void {
  const run = worker.run.bind(worker);
  worker.run = async () => {
    let working: Promise<void> | undefined;
    const next = () => {
      working ??= work()
        .catch(failed)
        .finally(() => {
          working = undefined;
        });
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
