import type { Closing } from '../../../worker/closing.ts';
import type { FolderOwnership } from '../../../worker/folder/lock.ts';
import { type LocalGateway, openLocalGateway } from '../../../worker/local-gateway.ts';
import type { HoldfastClient } from '../../client/holdfast-client.ts';
import { CliError } from '../cli-error.ts';
import { withProgress } from '../command-output.ts';
import { aboutProcess } from '../environment/about.ts';
import { type Backend, openBackend } from '../environment/backend.ts';
import { lineLogger } from '../environment/line-logger.ts';
import { gatewaySettingsFor, storeUrl, taskQueueFor } from '../environment/places.ts';
import { readinessOf } from '../environment/readiness.ts';
import { openClient } from '../environment/turn-client.ts';
import { listening } from '../listening.ts';
import type { LoadedAgents, WorkerPlace } from './child-messages.ts';
import { DevGateway } from './dev-gateway.ts';
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
  /** Whether a file that can't be loaded at first may be mended, or is the end. */
  waitsForChange: boolean;
}

/** All that `holdfast dev` runs beside its chat. */
export interface DevServices {
  backend: Backend;
  client: HoldfastClient;
  gateway: LocalGateway;
  taskQueue: string;
  /** Process id of the first worker. */
  workerPid: number | undefined;
  /** What the newest worker serves. */
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
  const opening = openBackend({ folder, env, onProgress: note });
  opening.then(
    ({ store }) => closing.add(() => store.close()),
    () => undefined,
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
    const backend = await opening;
    const { client, temporal } = await openClient(backend, taskQueue, closing);
    // Before the store, which they have joined.
    closing.add(endWorkers);
    const serving = openLocalGateway({
      ownership,
      client,
      about: () => aboutProcess(backend.temporal, taskQueue, env, servedNames(served)),
      ready: readinessOf(temporal, backend.store, {
        worker: async () => {
          if (!fleet.polls) throw new Error('there is none');
        },
      }),
      settings: gatewaySettingsFor(env, undefined),
      records: backend.store,
      credentialKeys: backend.credentialKeys,
      logger: lineLogger(note),
      ...(port === undefined ? {} : { port }),
    });
    const gateway = await listening('--port', serving);
    closing.add(() => gateway.close());
    // A worker's tools hand out its address.
    placed.resolve(placeOf(backend, env, { taskQueue, folder, gatewayUrl: gateway.url }));
    const { loaded, pid } = await withProgress({ note }, `starting the worker of ${path}`, first.promise);
    await settings.follow(gateway, loaded);
    opened = gateway;
    return {
      backend,
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
  { temporal: { connectionOptions, namespace, searchAttributes }, store }: Backend,
  env: NodeJS.ProcessEnv,
  rest: Pick<WorkerPlace, 'taskQueue' | 'folder' | 'gatewayUrl'>,
): WorkerPlace {
  const url = storeUrl(env);
  const { socket } = store;
  if (url === undefined && socket === undefined) throw new Error('the embedded store has no socket');
  return {
    temporal: { connectionOptions, namespace, searchAttributes },
    store: url === undefined ? { socket: socket ?? '' } : { url },
    ...rest,
  };
}
