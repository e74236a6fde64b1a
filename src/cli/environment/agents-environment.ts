import type { TracingOptions } from '../../../activities/telemetry/tracing.ts';
import { Closing } from '../../../worker/closing.ts';
import { openEnvironmentGateway, readinessOf } from '../../../worker/environment/environment-gateway.ts';
import type { Environment } from '../../../worker/environment/open-environment.ts';
import { type RunningWorker, startWorker } from '../../../worker/environment/running-worker.ts';
import type { FolderOwnership } from '../../../worker/folder/lock.ts';
import type { HoldfastLogger } from '../../../worker/index.ts';
import type { LocalGateway } from '../../../worker/local-gateway.ts';
import type { HoldfastClient } from '../../client/holdfast-client.ts';
import type { Readiness } from '../../gateway/health/readiness.ts';
import { defined } from '../../protocol/json.ts';
import type { AgentsFile } from '../load-agents.ts';
import { type BackendOptions, openBackend } from './backend.ts';
import { keepServer } from './kept-server.ts';
import { gatewaySettingsFor, publicUrlFor, taskQueueFor } from './places.ts';

/** Milliseconds after which a worker that doesn't heed its end is given up. */
const PATIENCE = 5_000;

/** Server, store, client, worker and, where the folder is its own, the local gateway of one process. */
export interface AgentsEnvironment {
  server: Environment['server'];
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
  close(): Promise<void>;
}

export interface AgentsEnvironmentOptions extends BackendOptions {
  /** Of the folder, unless server and store are elsewhere; it is released at the end. */
  ownership: FolderOwnership | undefined;
  /** The agents file, and what it exports. */
  file: string;
  loaded: AgentsFile;
  /** Answers where neither turn nor session names an agent. Defaults to the first agent. */
  rootAgent?: string | undefined;
  logger: HoldfastLogger;
  /** How long running activities may go on at the end, milliseconds. */
  grace: number;
  /** Defaults to `openBackend`. */
  open?: typeof openBackend;
  /** Defaults to the one that the environment and the folder give. */
  taskQueue?: string | undefined;
  /** Defaults to none. */
  tracing?: TracingOptions | undefined;
  /** Where people read a session, for the worker. */
  transcriptUrl?: string | undefined;
}

/** On embedded defaults, or on what the environment names. The caller has made Temporal's runtime. */
export async function openAgentsEnvironment(options: AgentsEnvironmentOptions): Promise<AgentsEnvironment> {
  const { ownership, file, loaded, env, logger, grace, open = openBackend } = options;
  const { rootAgent, transcriptUrl, tracing, onProgress, stopsServer = 'never' } = options;
  const folder = ownership?.folder ?? options.folder;
  const closing = new Closing();
  try {
    closing.add(() => ownership?.release());
    // Before anything is started for it.
    const settings = gatewaySettingsFor(env, loaded.gateway);
    const opening = open({ folder, env, onProgress, stopsServer });
    const environment = await closing.of(opening, (opened) => opened.close());
    closing.add(keepServer(environment, { folder, env, onProgress }));
    const taskQueue = options.taskQueue ?? taskQueueFor(env, folder, file);
    const client = environment.client(taskQueue);
    let localUrl: string | undefined;
    const worker = await startWorker(environment, {
      agents: loaded.agents,
      apps: loaded.apps,
      ...{ taskQueue, logger, shutdownGraceTime: grace },
      publicUrl: publicUrlFor(env, loaded.gateway, () => localUrl),
      ...defined({ rootAgent, transcriptUrl, tracing }),
    });
    // Why it has failed is told by `failed`.
    closing.add(() => worker.close(PATIENCE).catch(() => undefined));
    const failed = new Promise<never>((_resolve, reject) => worker.ended.catch(reject));
    failed.catch(() => undefined);
    const ready = readinessOf(environment, {
      worker: async () => {
        if (!worker.polls()) throw new Error('it takes no tasks');
      },
    });
    const agents = loaded.agents.map(({ name }) => name);
    const served = () => ({ apps: [loaded.app], agents });
    const gateway =
      ownership &&
      (await openEnvironmentGateway(environment, {
        ...{ ownership, client, taskQueue, served, ready, settings, logger },
      }));
    localUrl = gateway?.url;
    closing.add(() => gateway?.close());
    const { server } = environment;
    return {
      ...{ server, client, worker, taskQueue, gateway, ready, failed },
      close: () => closing.close(),
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}
