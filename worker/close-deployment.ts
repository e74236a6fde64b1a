import type { Worker } from '@temporalio/worker';
import type { Deployment } from '../activities/deployment.ts';
import type { HoldfastLogger } from '../activities/logging.ts';
import { llmAgentsOf } from '../src/agents/agents-of-tree.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';
import { type BaseToolset, isBaseToolset } from '../src/tools/base-toolset.ts';
import { withinTime } from './within-time.ts';

/** Closes toolsets, then plugins, when the worker's last activity has ended; each once, also if another one throws. */
export function closeDeployment(worker: Worker, deployment: Deployment, logger: HoldfastLogger): void {
  const run = worker.run.bind(worker);
  worker.run = async () => {
    try {
      await run();
    } finally {
      await closeAll(deployment, logger);
    }
  };
}

async function closeAll({ roots, plugins }: Deployment, logger: HoldfastLogger): Promise<void> {
  const toolsets = new Set<BaseToolset>();
  for (const { tools } of llmAgentsOf(roots.values())) {
    for (const tool of tools) if (isBaseToolset(tool)) toolsets.add(tool);
  }
  await Promise.all(
    [...toolsets].map((toolset) => closed(logger, { toolset: toolset.name }, () => toolset.close())),
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
