import type { Worker } from '@temporalio/worker';
import type { HoldfastLogger } from '../activities/logging.ts';
import type { Tracing } from '../activities/telemetry/tracing.ts';
import { thrownMessage } from '../src/tools/thrown-message.ts';

/** Milliseconds that a worker which is done waits for a collector, which may be down for good. */
const LONGEST = 5_000;

/** Exports what spans are left when the worker's last activity has ended. */
export function flushSpans(worker: Worker, tracing: Tracing, logger: HoldfastLogger): void {
  const run = worker.run.bind(worker);
  worker.run = async () => {
    try {
      await run();
    } finally {
      await withinTime(tracing.shutdown()).catch((error: unknown) => {
        logger.warn('spans were not exported', { reason: thrownMessage(error) });
      });
    }
  };
}

async function withinTime(work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no end within ${LONGEST} ms`)), LONGEST);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
