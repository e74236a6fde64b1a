import { setTimeout } from 'node:timers/promises';
import { NativeConnection } from '@temporalio/worker';
import { createWorker, type HoldfastLogger, type TemporalTarget } from '../../../worker/index.ts';
import type { CredentialKeys } from '../../credentials/credential-keys.ts';
import type { Store } from '../../store/store.ts';
import type { AgentsFile } from '../load-agents.ts';
import { Leaving } from './leaving.ts';

/** Milliseconds after which a worker that doesn't heed its end is given up. */
const PATIENCE = 5_000;

export interface RunningWorkerOptions {
  temporal: Pick<TemporalTarget, 'connectionOptions' | 'namespace' | 'searchAttributes'>;
  store: Store;
  /** What credentials are encrypted with. */
  credentialKeys: CredentialKeys | undefined;
  taskQueue: string;
  loaded: Pick<AgentsFile, 'agents' | 'apps'>;
  /** Defaults to the first agent. */
  rootAgent?: string | undefined;
  logger: HoldfastLogger;
  /** How long running activities may go on after `drain`, milliseconds. */
  grace: number;
  transcriptUrl?: string | undefined;
  /** Where services call back about jobs. */
  publicUrl: string | (() => string | undefined);
}

/** A worker that polls. */
export interface RunningWorker {
  /** Resolves once it has ended as it was told to, rejects where it failed for good. */
  ended: Promise<void>;
  /** Takes no new tasks, and ends when those that run are done or the grace time is over. */
  drain(): void;
  /** Ends at once: what runs is tried again by another worker. */
  leave(): void;
  /** Whether it takes tasks. */
  polls(): boolean;
  /** Activities that run now. */
  running(): number;
  /** Drains, and gives up on what doesn't heed the end of its grace time. */
  close(): Promise<void>;
}

export async function startWorker(options: RunningWorkerOptions): Promise<RunningWorker> {
  const {
    temporal,
    store,
    credentialKeys,
    taskQueue,
    loaded,
    rootAgent,
    logger,
    grace,
    transcriptUrl,
    publicUrl,
  } = options;
  const connection = await NativeConnection.connect(temporal.connectionOptions);
  const leaving = new Leaving();
  try {
    const worker = await createWorker({
      agents: loaded.agents,
      apps: loaded.apps,
      ...(rootAgent === undefined ? {} : { rootAgent }),
      store,
      connection,
      namespace: temporal.namespace,
      taskQueue,
      searchAttributes: temporal.searchAttributes === 'registered',
      shutdownGraceTime: grace,
      interceptors: leaving.interceptors,
      logger,
      publicUrl,
      ...(credentialKeys === undefined ? {} : { credentialKeys }),
      ...(transcriptUrl === undefined ? {} : { transcriptUrl }),
    });
    const ended = worker.run().finally(() => connection.close());
    ended.catch(() => undefined);
    const drain = () => {
      if (worker.getState() === 'RUNNING') worker.shutdown();
    };
    return {
      ended,
      drain,
      leave() {
        drain();
        leaving.leave();
      },
      polls: () => worker.getState() === 'RUNNING',
      running: () => leaving.running,
      async close() {
        drain();
        const patience = setTimeout(PATIENCE, undefined, { ref: false });
        await Promise.race([ended.catch(() => undefined), patience]);
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
