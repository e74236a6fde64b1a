import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { sql } from 'kysely';
import { acquireFolder, FolderInUse, type FolderOwnership } from '../../worker/folder/lock.ts';
import { findLocalGateway } from '../../worker/local-gateway.ts';
import { namesServer } from '../../worker/temporal/client-config.ts';
import { openTemporal } from '../../worker/temporal/connect.ts';
import { stopEmbedded } from '../../worker/temporal/embedded.ts';
import { GatewayClient } from '../client/gateway-client.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import { HoldfastClient } from '../client/holdfast-client.ts';
import { latestRun } from '../client/open-run.ts';
import { workflowIdOf } from '../protocol/identity.ts';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import { type OpenedStore, openStore } from '../store/open-store.ts';
import type { SessionNames } from '../store/session-names.ts';
import type { SessionStore } from '../store/session-store.ts';
import { InvalidStoreUrl } from '../store/store-errors.ts';
import { CliError, sectionOf } from './cli-error.ts';

/** How long a process that has just taken the folder may take to open its gateway, milliseconds. */
const OWNER_PATIENCE = 10_000;
const OWNER_POLL = 100;

export interface ConnectOptions {
  folder: string;
  /** `HOLDFAST_STORE`, `HOLDFAST_TASK_QUEUE`, and what names a Temporal server. */
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

interface Connected {
  /** Names of the apps that have sessions; through a gateway, of those that its process serves. */
  apps(): Promise<string[]>;
  close(): Promise<void>;
}

export interface ConnectedFolder extends Connected {
  api: HoldfastApi;
}

export interface ConnectedSessions extends Connected {
  sessions: Pick<HoldfastApi['sessions'], 'get' | 'list' | 'fork'>;
}

export interface ConnectFolderOptions extends ConnectOptions {
  /**
   * Names a session whose turn is to be started without an agents file: it gets the task queue of the session's last run,
   * which the workers that know its agents poll.
   */
  session?: (apps: Connected['apps']) => Promise<SessionNames>;
}

/**
 * Turns and sessions of a folder, or of the server and store that the environment names: through the gateway of the process
 * that owns the folder, where one lives, else directly. An embedded Temporal server that has to be started for it is stopped
 * by `close`.
 *
 * @throws CliError where there is no such folder; what `openStore`, `openTemporal` and `acquireFolder` throw.
 */
export async function connectFolder(options: ConnectFolderOptions): Promise<ConnectedFolder> {
  const { env, onProgress } = options;
  const owned = await gatewayOrOwnership(options, !env.HOLDFAST_STORE || !namesServer(env));
  if ('api' in owned) return owned;
  const endings: (() => Promise<unknown> | unknown)[] = [() => owned.ownership?.release()];
  const close = async () => {
    for (const end of endings.splice(0).reverse()) await end();
  };
  try {
    const store = await openNamedStore(options);
    endings.push(() => store.close());
    const { folder = options.folder } = owned.ownership ?? {};
    const temporal = await openTemporal({ folder, env, onProgress });
    if (temporal.startedHere) endings.push(() => stopEmbedded(folder));
    const connection = await Connection.connect(temporal.connectionOptions);
    endings.push(() => connection.close());
    const client = new Client({ connection, namespace: temporal.namespace });
    const api = new HoldfastClient({
      temporal: client,
      store,
      taskQueue: await taskQueueFor(client, store, options),
      searchAttributes: temporal.searchAttributes === 'registered',
    });
    return { api, apps: () => appsOf(store), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** As {@link connectFolder}, for what needs no Temporal server: none is started. */
export async function connectSessions(options: ConnectOptions): Promise<ConnectedSessions> {
  const owned = await gatewayOrOwnership(options, !options.env.HOLDFAST_STORE);
  if ('api' in owned) return { ...owned, sessions: owned.api.sessions };
  try {
    const store = await openNamedStore(options);
    return {
      sessions: sessionsOf(store),
      apps: () => appsOf(store),
      close: async () => {
        await store.close();
        owned.ownership?.release();
      },
    };
  } catch (error) {
    owned.ownership?.release();
    throw error;
  }
}

/** @param needed whether server or store are the folder's. */
async function gatewayOrOwnership(
  options: ConnectOptions,
  needed: boolean,
): Promise<ConnectedFolder | { ownership: FolderOwnership | undefined }> {
  if (!needed) return { ownership: undefined };
  const { folder, env } = options;
  const deadline = Date.now() + OWNER_PATIENCE;
  for (;;) {
    const gateway = await findLocalGateway(folder);
    if (gateway !== undefined) return throughGateway(gateway);
    assertUsed(folder, env);
    try {
      return { ownership: acquireFolder(folder) };
    } catch (error) {
      // Its owner may be about to open its gateway, or to release it.
      if (!(error instanceof FolderInUse) || Date.now() > deadline) throw error;
    }
    await setTimeout(OWNER_POLL);
  }
}

function throughGateway(gateway: { url: string; token: string }): ConnectedFolder {
  const api = new GatewayClient(gateway);
  return { api, apps: async () => (await api.about()).apps, close: async () => undefined };
}

/** A command that looks at what is there makes nothing. */
function assertUsed(folder: string, env: NodeJS.ProcessEnv): void {
  const isThere = existsSync(env.HOLDFAST_STORE ? folder : join(folder, 'store'));
  if (isThere) return;
  throw new CliError(
    `there is no ${existsSync(folder) ? 'store in the folder' : 'folder'} ${folder}: nothing has run with it yet. Name ` +
      'another one with --folder, run an agent (holdfast run, holdfast dev), which makes it, or set HOLDFAST_STORE and ' +
      'TEMPORAL_ADDRESS',
  );
}

async function openNamedStore({ folder, env, onProgress }: ConnectOptions): Promise<OpenedStore> {
  const url = env.HOLDFAST_STORE || undefined;
  try {
    return await openStore({ folder, onProgress, ...(url === undefined ? {} : { url }) });
  } catch (error) {
    if (!(error instanceof InvalidStoreUrl)) throw error;
    throw new CliError(`HOLDFAST_STORE: ${error.message}\n${sectionOf(error.code)}`);
  }
}

function sessionsOf(store: SessionStore): ConnectedSessions['sessions'] {
  return {
    get: (get) => store.getSession(get),
    list: (list) => store.listSessions(list),
    fork: (fork) => store.forkSession(fork),
  };
}

/** An embedded store's turns run on queues of their own, one for each agents file. */
async function taskQueueFor(
  client: Client,
  store: OpenedStore,
  { env, session }: ConnectFolderOptions,
): Promise<string> {
  if (env.HOLDFAST_TASK_QUEUE) return env.HOLDFAST_TASK_QUEUE;
  if (session === undefined) return DEFAULT_TASK_QUEUE;
  const { app, userId, sessionId } = await session(() => appsOf(store));
  const run = await latestRun(client, workflowIdOf(app, userId, sessionId));
  if (run !== undefined) return run.taskQueue;
  if (env.HOLDFAST_STORE) return DEFAULT_TASK_QUEUE;
  throw new CliError(
    `Temporal has no history of session ${sessionId} any more, so that its workers' task queue is not known: run its agents ` +
      'file in this folder (holdfast dev), and repeat this, or set HOLDFAST_TASK_QUEUE',
  );
}

/** From each app's first index entry to the next app's, however many sessions there are. */
async function appsOf(store: OpenedStore): Promise<string[]> {
  const { rows } = await sql<{ app: string }>`
    with recursive found as (
      (select app, app_key from holdfast.sessions order by app_key limit 1)
      union all
      select next.app, next.app_key from found,
        lateral (
          select s.app, s.app_key from holdfast.sessions s
          where s.app_key > found.app_key order by s.app_key limit 1
        ) next
    ) select app from found order by app`.execute(store.db);
  return rows.map(({ app }) => app);
}
