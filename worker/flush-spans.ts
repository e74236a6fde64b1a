import type { Worker } from '@temporalio/worker';
import type { HoldfastLogger } from '../activities/logging.ts';
import type { Tracing } from '../activities/telemetry/tracing.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';
import { withinTime } from './within-time.ts';

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
