import { Closing } from '../../../worker/closing.ts';
import type { FolderOwnership, HoldfastLogger } from '../../../worker/index.ts';
import { type LocalGateway, openLocalGateway } from '../../../worker/local-gateway.ts';
import type { HoldfastClient } from '../../client/holdfast-client.ts';
import type { Readiness } from '../../gateway/health/readiness.ts';
import type { AgentsFile } from '../load-agents.ts';
import { aboutProcess } from './about.ts';
import { type Backend, openBackend } from './backend.ts';
import { gatewaySettingsFor, publicUrlFor, taskQueueFor } from './places.ts';
import { readinessOf } from './readiness.ts';
import { type RunningWorker, startWorker } from './running-worker.ts';
import { openClient } from './turn-client.ts';

/** Server, store, client, worker and, where the folder is its own, the local gateway of one process. */
export interface Environment extends Backend {
  client: HoldfastClient;
  worker: RunningWorker;
  /** The task queue that this process's worker polls. */
  taskQueue: string;
  gateway: Pick<LocalGateway, 'url' | 'token'> | undefined;
  /** Whether what it needs answers now, its worker included. */
  ready: () => Promise<Readiness>;
  /** Rejects where the worker fails for good; never resolves. */
  failed: Promise<never>;
  /** Ends all. The embedded Temporal server stays up, for its UI, unless it is to stop too. */
  close(options?: { stopServer?: boolean }): Promise<void>;
}

export interface EnvironmentOptions {
  folder: string;
  /** Of the folder, unless server and store are elsewhere; it is released at the end. */
  ownership: FolderOwnership | undefined;
  /** The agents file, and what it exports. */
  file: string;
  loaded: AgentsFile;
  /** Answers where neither turn nor session names an agent. Defaults to the first agent. */
  rootAgent?: string | undefined;
  env: NodeJS.ProcessEnv;
  logger: HoldfastLogger;
  /** How long running activities may go on at the end, milliseconds. */
  grace: number;
  onProgress: (line: string) => void;
  /** Defaults to `openBackend`. */
  open?: typeof openBackend;
  /** Defaults to the one that the environment and the folder give. */
  taskQueue?: string | undefined;
  /** Where people read a session, for the worker. */
  transcriptUrl?: string | undefined;
}

/** On embedded defaults, or on what the environment names. The caller has made Temporal's runtime. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { ownership, file, loaded, env, onProgress, open = openBackend } = options;
  const folder = ownership?.folder ?? options.folder;
  const closing = new Closing();
  let stopServer = false;
  try {
    closing.add(() => ownership?.release());
    // Before anything is started for it.
    const settings = gatewaySettingsFor(env, loaded.gateway);
    const backend = await open({ folder, env, onProgress });
    const { temporal, store, credentialKeys } = backend;
    closing.add(() => (stopServer ? temporal.stop?.() : undefined));
    closing.add(() => store.close());
    const taskQueue = options.taskQueue ?? taskQueueFor(env, folder, file);
    const opened = await openClient(backend, taskQueue, closing);
    let localUrl: string | undefined;
    const publicUrl = publicUrlFor(env, loaded.gateway, () => localUrl);
    const worker = await startWorker({ ...options, temporal, store, credentialKeys, taskQueue, publicUrl });
    closing.add(() => worker.close());
    const failed = new Promise<never>((_resolve, reject) => worker.ended.catch(reject));
    failed.catch(() => undefined);
    const ready = readinessOf(opened.temporal, store, {
      worker: async () => {
        if (!worker.polls()) throw new Error('it takes no tasks');
      },
    });
    const served = { apps: [loaded.app], agents: loaded.agents.map(({ name }) => name) };
    const gateway =
      ownership &&
      (await openLocalGateway({
        ownership,
        client: opened.client,
        about: () => aboutProcess(temporal, taskQueue, env, served),
        ready,
        settings,
        records: store,
        credentialKeys,
        logger: options.logger,
      }));
    localUrl = gateway?.url;
    closing.add(() => gateway?.close());
    return {
      ...backend,
      client: opened.client,
      worker,
      taskQueue,
      gateway,
      ready,
      failed,
      async close(ending) {
        stopServer = ending?.stopServer ?? false;
        await closing.close();
      },
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}
