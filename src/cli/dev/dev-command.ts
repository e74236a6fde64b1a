import { acquireFolder, type FolderOwnership, workflowUrl } from '../../../worker/index.ts';
import { openLocalGateway } from '../../../worker/local-gateway.ts';
import { workflowIdOf } from '../../protocol/identity.ts';
import { CliError } from '../cli-error.ts';
import { withProgress } from '../command-output.ts';
import { aboutProcess } from '../environment/about.ts';
import { openBackend } from '../environment/backend.ts';
import { Closing } from '../environment/closing.ts';
import { storeUrl, taskQueueFor } from '../environment/places.ts';
import { readinessOf } from '../environment/readiness.ts';
import { openClient } from '../environment/turn-client.ts';
import { lineLogger } from '../environment/worker-logs.ts';
import { agentsPath } from '../load-agents.ts';
import type { LoadedAgents } from './child-messages.ts';
import { startConversation } from './conversation.ts';
import type { DevView } from './dev-view.ts';
import { FileWatch } from './file-watch.ts';
import { JsonView } from './json-view.ts';
import { Screen } from './screen.ts';
import { newSessionId } from './slash-commands.ts';
import { TerminalView } from './terminal-view.ts';
import { WorkerChild } from './worker-child.ts';
import { WorkerFleet } from './worker-fleet.ts';

export interface DevOptions {
  agent?: string;
  session?: string;
  user: string;
  app?: string;
  folder: string;
  /** Port of the gateway. */
  port?: number;
  chat: boolean;
  json?: boolean;
  stopServer?: boolean;
}

/** `holdfast dev`: everything in one command, until it is told to end. Returns the exit code. */
export async function devCommand(file: string, options: DevOptions): Promise<number> {
  const path = agentsPath(file);
  const { env, stdin, stdout, stderr } = process;
  const isTyped = options.chat && stdin.isTTY && stdout.isTTY && !options.json;
  const screen = new Screen(stdout, stderr);
  const view: DevView = options.json ? new JsonView() : new TerminalView(screen, isTyped);
  const ending = Promise.withResolvers<number>();
  const signals = onSignals(() => ending.resolve(0));
  const closing = new Closing();
  const ownership = acquireFolder(options.folder);
  closing.add(() => ownership.release());
  let stopServer: (() => Promise<void>) | undefined;
  closing.add(() => (options.stopServer ? stopServer?.() : undefined));
  try {
    const started = start(path, options, ownership, view, closing);
    const up = await Promise.race([started.then((up) => ({ up })), ending.promise]);
    if (typeof up === 'number') {
      // Whatever is being opened ends with the process.
      return 130;
    }
    const { backend, client, gateway, workerPid, taskQueue, loaded } = up.up;
    const agents = () => loaded().agents.map(({ name }) => name);
    stopServer = backend.temporal.stop;
    const names = {
      app: options.app ?? loaded().app,
      userId: options.user,
      sessionId: options.session ?? newSessionId(),
    };
    view.ready({
      file: path,
      folder: ownership.folder,
      loaded: loaded(),
      workerPid,
      uiUrl: backend.temporal.uiUrl,
      gateway,
      store: storeUrl(env) === undefined ? 'embedded' : 'postgres',
      taskQueue,
      session: options.chat ? names : undefined,
    });
    if (!options.chat) return await ending.promise;
    if (options.agent !== undefined && !agents().includes(options.agent))
      throw new CliError(`--agent: ${file} has no agent ${options.agent}; it has ${agents().join(', ')}`, 2);
    const conversation = startConversation({
      screen,
      isTyped,
      folder: ownership.folder,
      chat: {
        client,
        view,
        names,
        agent: options.agent,
        agents,
        linkOf: ({ app, userId, sessionId }, runId) =>
          workflowUrl(backend.temporal, workflowIdOf(app, userId, sessionId), runId),
      },
    });
    closing.add(() => conversation.close());
    signals.onInterrupt = () => conversation.interrupt();
    return await Promise.race([conversation.ended, ending.promise]);
  } finally {
    signals.forget();
    await closing.close();
  }
}

/** Server, store, client, workers and gateway, each as soon as what it needs is there. */
async function start(
  path: string,
  options: DevOptions,
  ownership: FolderOwnership,
  view: DevView,
  closing: Closing,
) {
  const { env } = process;
  const { folder } = ownership;
  const note = (line: string) => view.note(line);
  const opening = openBackend({ folder, env, onProgress: note });
  opening.then(
    ({ store }) => closing.add(() => store.close()),
    () => undefined,
  );
  const taskQueue = taskQueueFor(env, folder, path);
  const place = opening.then(({ temporal, store }) => ({
    temporal: {
      connectionOptions: temporal.connectionOptions,
      namespace: temporal.namespace,
      searchAttributes: temporal.searchAttributes,
    },
    store: storePlace(env, store.socket),
    taskQueue,
    tellsNotices: store.socket !== undefined || !env.HOLDFAST_STORE_LISTEN,
    logFolder: folder,
  }));
  place.catch(() => undefined);
  let loaded: LoadedAgents | undefined;
  const first = Promise.withResolvers<number | undefined>();
  first.promise.catch(() => undefined);
  const watch = new FileWatch(() => fleet.reload());
  const fleet = new WorkerFleet(
    () =>
      new WorkerChild(path, {
        file: (file) => watch.add(file),
        line: (line) => view.printed(line),
        notice: (notice) => void opening.then(({ store }) => store.hear(notice)),
      }),
    place,
    {
      starting: () => (loaded === undefined ? undefined : view.reloading()),
      polls(now, pid) {
        const isFirst = loaded === undefined;
        loaded = now;
        if (isFirst) first.resolve(pid);
        else view.reloaded(now, pid);
      },
      refused(reason, keeps) {
        // Whoever reads lines from a pipe would wait for ever.
        if (loaded === undefined && options.chat && !process.stdin.isTTY) first.reject(new CliError(reason));
        else view.refused(reason, keeps);
      },
      drained: (pid, ms) => view.drained(pid, ms),
      died: (reason, pause) => view.died(reason, pause),
    },
  );
  fleet.reload();
  // Before the store that its workers join.
  const endWorkers = async () => {
    watch.close();
    await fleet.close();
  };
  try {
    const backend = await opening;
    const opened = await openClient(backend, taskQueue);
    closing.add(() => opened.close());
    closing.add(endWorkers);
    const gateway = await openLocalGateway({
      ownership,
      client: opened.client,
      about: () =>
        aboutProcess(backend.temporal, taskQueue, env, {
          apps: loaded === undefined ? [] : [loaded.app],
          agents: loaded?.agents.map(({ name }) => name) ?? [],
        }),
      ready: readinessOf(opened.temporal, backend.store, {
        worker: async () => {
          if (!fleet.polls) throw new Error('there is none');
        },
      }),
      logger: lineLogger(note),
      ...(options.port === undefined ? {} : { port: options.port }),
    });
    closing.add(() => gateway.close());
    const workerPid = await withProgress({ note }, `starting the worker of ${path}`, first.promise);
    return {
      backend,
      client: opened.client,
      gateway,
      workerPid,
      taskQueue,
      loaded: () => loaded as unknown as LoadedAgents,
    };
  } catch (error) {
    await endWorkers();
    throw error;
  }
}

function storePlace(env: NodeJS.ProcessEnv, socket: string | undefined): { socket: string } | { url: string } {
  const url = storeUrl(env);
  if (url !== undefined) return { url };
  if (socket === undefined) throw new Error('the embedded store has no socket');
  return { socket };
}

function onSignals(onEnd: () => void) {
  const signals = {
    /** What Ctrl-C does in place of ending. */
    onInterrupt: undefined as (() => void) | undefined,
    forget() {
      process.off('SIGINT', interrupted);
      process.off('SIGTERM', onEnd);
      process.off('SIGHUP', onEnd);
    },
  };
  const interrupted = () => (signals.onInterrupt ?? onEnd)();
  process.on('SIGINT', interrupted);
  process.on('SIGTERM', onEnd);
  process.on('SIGHUP', onEnd);
  return signals;
}
