import type { Closing } from '../../../worker/closing.ts';
import { openEnvironmentGateway, readinessOf } from '../../../worker/environment/environment-gateway.ts';
import type { Environment } from '../../../worker/environment/open-environment.ts';
import type { FolderOwnership } from '../../../worker/folder/lock.ts';
import type { LocalGateway } from '../../../worker/local-gateway.ts';
import type { HoldfastClient } from '../../client/holdfast-client.ts';
import { CliError, describeError } from '../cli-error.ts';
import { withProgress } from '../command-output.ts';
import { openBackend } from '../environment/backend.ts';
import { keepServer } from '../environment/kept-server.ts';
import { lineLogger } from '../environment/operator-log.ts';
import { gatewaySettingsFor, storeUrl, taskQueueFor } from '../environment/places.ts';
import { loadGateway } from '../gateway-of-exports.ts';
import { listening } from '../listening.ts';
import type { LoadedAgents, WorkerPlace } from './child-messages.ts';
import type { DevView } from './dev-view.ts';
import { FileWatch } from './file-watch.ts';
import { WorkerChild } from './worker-child.ts';
import { WorkerFleet } from './worker-fleet.ts';

export interface DevServicesOptions {
  /** Absolute path of the agents file. */
  path: string;
  ownership: FolderOwnership;
  env: NodeJS.ProcessEnv;
  /** Of the gateway; a free one by default. */
  port: number | undefined;
  view: DevView;
  /** Whether an embedded Temporal server ends, too. */
  stopServer: boolean;
  /** Whether a file that can't be loaded at first may be mended, or is the end. */
  waitsForChange: boolean;
}

/** All that `holdfast dev` runs beside its chat. */
export interface DevServices {
  server: Environment['server'];
  client: HoldfastClient;
  gateway: LocalGateway;
  taskQueue: string;
  /** Process id of the first worker. */
  workerPid: number | undefined;
  /** Apps and agents of the newest worker. */
  loaded(): LoadedAgents;
  /** Starts a new worker, whether a file has changed or not. */
  reload(): void;
}

interface Served {
  loaded: LoadedAgents;
  pid: number | undefined;
}

/**
 * Server, store, client, gateway and worker, each as soon as what it needs is there; it resolves when the worker polls.
 *
 * @param closing gets what is to be ended, also where this fails.
 */
export async function startDevServices(options: DevServicesOptions, closing: Closing): Promise<DevServices> {
  const { path, ownership, env, port, view } = options;
  const { folder } = ownership;
  const note = (line: string) => view.note(line);
  const taskQueue = taskQueueFor(env, folder, path);
  const opening = closing.of(
    openBackend({ folder, env, stopsServer: options.stopServer ? 'always' : 'never', onProgress: note }),
    (opened) => opened.close(),
  );
  const placed = Promise.withResolvers<WorkerPlace>();
  placed.promise.catch(() => undefined);

  const first = Promise.withResolvers<Served>();
  first.promise.catch(() => undefined);
  let served: Served | undefined;
  let opened: LocalGateway | undefined;
  const settings = new DevGateway(path, env, (text) => view.problem(text));
  const watch = new FileWatch(() => fleet.reload());
  const spawn = () =>
    new WorkerChild(path, {
      file: (file) => watch.add(file),
      line: (line) => view.printed(line),
      notice: (notice) =>
        opening.then(
          ({ store }) => store.live.hear(notice),
          () => undefined,
        ),
    });
  const fleet = new WorkerFleet(spawn, placed.promise, {
    starting: () => (served === undefined ? undefined : view.reloading()),
    polls(loaded, pid) {
      if (served !== undefined) view.reloaded(loaded, pid);
      served = { loaded, pid };
      first.resolve(served);
      if (opened !== undefined) void settings.follow(opened, loaded);
    },
    refused(reason, keeps) {
      if (served === undefined && !options.waitsForChange) first.reject(new CliError(reason));
      else view.refused(reason, keeps);
    },
    drained: (pid, ms) => view.drained(pid, ms),
    died: (reason, pause) => view.died(reason, pause),
  });
  fleet.reload();
  const endWorkers = async () => {
    watch.close();
    await fleet.close();
  };
  try {
    const environment = await opening;
    closing.add(keepServer(environment, { folder, env, onProgress: note }));
    const client = environment.client(taskQueue);
    // Before the store, which they have joined.
    closing.add(endWorkers);
    const serving = openEnvironmentGateway(environment, {
      ...{ ownership, client, taskQueue },
      served: () => servedNames(served),
      ready: readinessOf(environment, {
        worker: async () => {
          if (!fleet.polls) throw new Error('there is none');
        },
      }),
      settings: gatewaySettingsFor(env, undefined),
      logger: lineLogger(note),
      ...(port === undefined ? {} : { port }),
    });
    const gateway = await listening('--port', serving);
    closing.add(() => gateway.close());
    // A worker's tools hand out its address.
    placed.resolve(placeOf(environment, env, { taskQueue, folder, gatewayUrl: gateway.url }));
    const { loaded, pid } = await withProgress({ note }, `starting the worker of ${path}`, first.promise);
    await settings.follow(gateway, loaded);
    opened = gateway;
    return {
      server: environment.server,
      client,
      gateway,
      taskQueue,
      workerPid: pid,
      loaded: () => served?.loaded ?? loaded,
      reload: () => fleet.reload(),
    };
  } catch (error) {
    placed.reject(error);
    await endWorkers();
    throw error;
  }
}

function servedNames(served: Served | undefined): { apps: string[]; agents: string[] } {
  if (served === undefined) return { apps: [], agents: [] };
  return { apps: [served.loaded.app], agents: served.loaded.agents.map(({ name }) => name) };
}

function placeOf(
  { server: { connectionOptions, namespace, searchAttributes }, store }: Environment,
  env: NodeJS.ProcessEnv,
  rest: Pick<WorkerPlace, 'taskQueue' | 'folder' | 'gatewayUrl'>,
): WorkerPlace {
  const url = storeUrl(env);
  const { socket } = store;
  if (url === undefined && socket === undefined) throw new Error('the embedded store has no socket');
  return {
    server: { connectionOptions, namespace, searchAttributes },
    store: url === undefined ? { socket: socket ?? '' } : { url },
    ...rest,
  };
}

/** Has the gateway of `holdfast dev` configured as the agents file says now: it answers in this process, and not in the worker's. */
class DevGateway {
  readonly #path: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #problem: (text: string) => void;
  #isConfigured = false;
  #version = 0;

  constructor(path: string, env: NodeJS.ProcessEnv, problem: (text: string) => void) {
    this.#path = path;
    this.#env = env;
    this.#problem = problem;
  }

  /** A file that is refused leaves the gateway as it was. */
  async follow(gateway: Pick<LocalGateway, 'reconfigure'>, loaded: LoadedAgents): Promise<void> {
    if (!loaded.gateway && !this.#isConfigured) return;
    this.#version += 1;
    const version = this.#version;
    try {
      const given = loaded.gateway ? await loadGateway(this.#path, version) : undefined;
      if (version !== this.#version) return;
      gateway.reconfigure(gatewaySettingsFor(this.#env, given));
      this.#isConfigured = loaded.gateway;
    } catch (error) {
      this.#problem(`the gateway stays as it was: ${describeError(error)}`);
    }
  }
}
