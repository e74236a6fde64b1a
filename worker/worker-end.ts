import type { Worker } from '@temporalio/worker';
import type { Deployment } from '../activities/deployment.ts';
import type { HoldfastLogger } from '../activities/logging.ts';
import type { Tracing } from '../activities/telemetry/tracing.ts';
import { toolsWithin } from '../src/agents/agents-of-tree.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';
import { withinTime } from './within-time.ts';

/** Parts that have to end after a worker's last activity. */
export interface EndingParts {
  deployment: Pick<Deployment, 'roots' | 'plugins'>;
  tracing: Tracing | undefined;
  logger: HoldfastLogger;
}

/** After the last activity of a worker: closes its tools and toolsets, then its plugins, each once, and exports the spans that are left. */
export function endWith(worker: Worker, { deployment, tracing, logger }: EndingParts): void {
  const run = worker.run.bind(worker);
  worker.run = async () => {
    try {
      await run();
    } finally {
      await closeAll(deployment, logger);
      if (tracing !== undefined) await exported(tracing, logger);
    }
  };
}

async function exported(tracing: Tracing, logger: HoldfastLogger): Promise<void> {
  await withinTime(tracing.shutdown()).catch((error: unknown) => {
    logger.warn('spans were not exported', { reason: thrownMessage(error) });
  });
}

async function closeAll(
  { roots, plugins }: EndingParts['deployment'],
  logger: HoldfastLogger,
): Promise<void> {
  await Promise.all(
    [...toolsWithin(roots.values())].map((tool) => closed(logger, { tool: tool.name }, () => tool.close())),
  );
  await Promise.all([...plugins].map(([app, manager]) => closed(logger, { app }, () => manager.close())));
}

async function closed(
  logger: HoldfastLogger,
  what: Record<string, string>,
  close: () => Promise<void>,
): Promise<void> {
  try {
    await withinTime(Promise.resolve(close()));
  } catch (error) {
    logger.warn('not closed', { ...what, reason: thrownMessage(error) });
  }
}

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
