import type { Worker } from '@temporalio/worker';
import type { HoldfastLogger } from '../activities/logging.ts';

/** Says when the worker takes tasks, when it is told to stop, and when its last activity has ended. */
export function logLifecycle(
  worker: Worker,
  logger: HoldfastLogger,
  attributes: Record<string, unknown>,
): void {
  const run = worker.run.bind(worker);
  const shutdown = worker.shutdown.bind(worker);
  worker.run = async () => {
    const running = run();
    if (worker.getState() === 'RUNNING') logger.info('worker ready', attributes);
    try {
      await running;
    } catch (error) {
      logger.error('worker failed', { ...attributes, error });
      throw error;
    }
    logger.info('worker drained', attributes);
  };
  // Signals and fatal errors come this way too.
  worker.shutdown = () => {
    shutdown();
    logger.info('worker shutdown begun', attributes);
  };
}
