import type { Worker } from '@temporalio/worker';
import type { HoldfastLogger } from '../activities/logging.ts';
import type { ArtifactBytes } from '../src/artifacts/artifact-bytes.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';

/** Milliseconds between two collections of a worker. */
const EVERY = 10 * 60 * 1000;

/** Removes bytes that no artifact uses, while a worker runs. Workers of one store share the work. */
export function collectArtifacts(
  worker: Worker,
  { artifacts, logger, every = EVERY }: { artifacts: ArtifactBytes; logger: HoldfastLogger; every?: number },
): void {
  const run = worker.run.bind(worker);
  worker.run = async () => {
    let collecting = Promise.resolve();
    const collect = async () => {
      try {
        const { failures } = await artifacts.collect();
        for (const failure of failures) {
          logger.warn('bytes of an artifact were not removed', { reason: thrownMessage(failure) });
        }
      } catch (error) {
        logger.warn('artifacts were not collected', { reason: thrownMessage(error) });
      }
    };
    // Workers that were started together take turns. Neither timer keeps a program up.
    const first = Math.ceil(Math.random() * every);
    const timer = setInterval(() => {
      collecting = collecting.then(collect);
    }, every).unref();
    const early = setTimeout(() => {
      collecting = collecting.then(collect);
    }, first).unref();
    try {
      await run();
    } finally {
      clearInterval(timer);
      clearTimeout(early);
      await collecting;
    }
  };
}
