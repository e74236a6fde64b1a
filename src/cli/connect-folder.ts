import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { sql } from 'kysely';
import { Closing } from '../../worker/closing.ts';
import { type FolderOwnership, stopEmbedded } from '../../worker/index.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import type { UiTarget } from '../../worker/temporal/ui-link.ts';
import { GatewayClient } from '../client/gateway-client.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import { HoldfastClient } from '../client/holdfast-client.ts';
import { latestRun } from '../client/turns/open-run.ts';
import { workflowIdOf } from '../protocol/identity.ts';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import { type OpenedStore, openStore } from '../store/open-store.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { sessionKeys } from '../store/sessions/session-names.ts';
import type { SessionStore } from '../store/sessions/session-store.ts';
import { InvalidStoreUrl } from '../store/store-errors.ts';
import { storedApprovals } from './approvals/stored-approvals.ts';
import { CliError, withSection } from './cli-error.ts';
import { openBackend } from './environment/backend.ts';
import { ownOrReach } from './environment/folder-access.ts';
import { needsFolder, storeUrl } from './environment/places.ts';
import { knownUi } from './environment/ui-target.ts';
import { storedJobs } from './jobs/stored-jobs.ts';

/** How long a gateway that has gone away is waited for, milliseconds. */
const GATEWAY_PATIENCE = 2_000;

export interface ConnectOptions {
  folder: string;
  /** `HOLDFAST_STORE`, `HOLDFAST_TASK_QUEUE`, and what names a Temporal server. */
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

export interface ConnectFolderOptions extends ConnectOptions {
  /**
   * Names a session whose turn is to be started without an agents file: it gets the task queue of the session's last run,
   * which the workers that know its agents poll.
   */
  session?: (apps: Connected['apps']) => Promise<SessionNames>;
}

interface Connected {
  /** Names of the apps that have sessions; through a gateway, of those that its process serves. */
  apps(): Promise<string[]>;
  /** Where pages of the Temporal UI are; undefined where nobody knows. */
  ui(): Promise<UiTarget | undefined>;
  close(): Promise<void>;
}

export interface ConnectedFolder extends Connected {
  api: HoldfastApi;
}

export interface ConnectedSessions extends Connected {
  sessions: Pick<HoldfastApi['sessions'], 'get' | 'list' | 'fork'>;
  approvals: Pick<HoldfastApi['approvals'], 'list' | 'get' | 'audit' | 'verifyAudit'>;
  jobs: Pick<HoldfastApi['jobs'], 'list' | 'get'>;
}

/**
 * Turns and sessions of a folder, or of the server and store that the environment names: through the gateway of the process
 * that owns the folder, where one lives, else directly. An embedded Temporal server that has to be started for it is stopped
 * by `close`.
 *
 * @throws CliError where there is no such folder; what `openStore`, `openTemporal` and `acquireFolder` throw.
 * @example
 * const { api, close } = await connectFolder({ folder: '.holdfast', env: process.env, onProgress: console.error });
 */
export async function connectFolder(options: ConnectFolderOptions): Promise<ConnectedFolder> {
  const access = await accessTo(options, needsFolder(options.env));
  if ('api' in access) return access;
  const { ownership } = access;
  const closing = new Closing();
  closing.add(() => ownership?.release());
  try {
    const folder = ownership?.folder ?? options.folder;
    const { store, temporal, credentialKeys } = await openBackend({ ...options, folder });
    closing.add(() => store.close());
    if (temporal.startedHere) closing.add(() => stopEmbedded(folder));
    const connection = await Connection.connect({
      ...temporal.connectionOptions,
      interceptors: retriesUntilClosed(),
    });
    closing.add(() => connection.close());
    const client = new Client({ connection, namespace: temporal.namespace });
    const api = new HoldfastClient({
      temporal: client,
      store,
      taskQueue: await taskQueueOf(client, store, options),
      searchAttributes: temporal.searchAttributes === 'registered',
      ...(credentialKeys === undefined ? {} : { credentialKeys }),
    });
    return { api, apps: () => appsOf(store), ui: async () => temporal, close: () => closing.close() };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

/** As {@link connectFolder}, for what needs no Temporal server: none is started. */
export async function connectSessions(options: ConnectOptions): Promise<ConnectedSessions> {
  const access = await accessTo(options, storeUrl(options.env) === undefined);
  if ('api' in access) {
    const { sessions, approvals, jobs } = access.api;
    return { ...access, sessions, approvals, jobs };
  }
  const closing = new Closing();
  closing.add(() => access.ownership?.release());
  try {
    const folder = access.ownership?.folder ?? options.folder;
    const store = await openNamedStore({ ...options, folder });
    closing.add(() => store.close());
    return {
      sessions: sessionsOf(store.sessions),
      approvals: storedApprovals(store),
      jobs: storedJobs(store.jobs),
      apps: () => appsOf(store),
      ui: async () => knownUi(options.env, folder),
      close: () => closing.close(),
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

/** @param needed whether server or store are the folder's. */
async function accessTo(
  { folder, env, onProgress }: ConnectOptions,
  needed: boolean,
): Promise<ConnectedFolder | { ownership: FolderOwnership | undefined }> {
  if (!needed) return { ownership: undefined };
  if (!existsSync(folder)) throw nothingIn(folder, 'folder');
  const access = await ownOrReach(folder, onProgress);
  if ('owner' in access) return throughGateway(access.owner);
  const { ownership } = access;
  if (storeUrl(env) !== undefined || existsSync(join(ownership.folder, 'store'))) return { ownership };
  ownership.release();
  throw nothingIn(folder, 'store in the folder');
}

function throughGateway({ url, token }: { url: string; token: string }): ConnectedFolder {
  const api = new GatewayClient({ url, token, patience: GATEWAY_PATIENCE });
  return {
    api,
    apps: async () => (await api.about()).apps,
    ui: () => api.about(),
    close: async () => undefined,
  };
}

/** A command that looks at what is there makes nothing. */
export function nothingIn(folder: string, what: string): CliError {
  return new CliError(
    `there is no ${what} ${folder}: nothing has run with it yet. Name another one with --folder, run an agent (holdfast ` +
      'run, holdfast dev), which makes it, or name store and server by HOLDFAST_STORE and TEMPORAL_ADDRESS',
  );
}

export async function openNamedStore({ folder, env, onProgress }: ConnectOptions): Promise<OpenedStore> {
  const url = storeUrl(env);
  try {
    return await openStore({ onProgress, ...(url === undefined ? { folder } : { url }) });
  } catch (error) {
    if (!(error instanceof InvalidStoreUrl)) throw error;
    throw new CliError(`HOLDFAST_STORE: ${withSection(error)}`);
  }
}

function sessionsOf(sessions: SessionStore): ConnectedSessions['sessions'] {
  return {
    get: (get) => sessions.get(get),
    list: (list) => sessions.list(list),
    fork: (fork) => sessions.fork(fork),
  };
}

/** An embedded store's turns run on queues of their own, one for each agents file. */
async function taskQueueOf(
  client: Client,
  store: OpenedStore,
  { env, session }: ConnectFolderOptions,
): Promise<string> {
  if (env.HOLDFAST_TASK_QUEUE) return env.HOLDFAST_TASK_QUEUE;
  if (session === undefined) return DEFAULT_TASK_QUEUE;
  const { app, userId, sessionId } = await session(() => appsOf(store));
  const run = await latestRun(client, workflowIdOf(app, userId, sessionId));
  if (run !== undefined) return run.taskQueue;
  // What is wanted of the session of an agent that a call has run is refused by the store, which says why.
  if (storeUrl(env) !== undefined || (await isBelow(store, { app, userId, sessionId })))
    return DEFAULT_TASK_QUEUE;
  throw new CliError(
    `Temporal has no history of session ${sessionId} any more, so that its workers' task queue is not known: run its agents ` +
      'file in this folder (holdfast dev), and repeat this, or set HOLDFAST_TASK_QUEUE',
  );
}

async function isBelow(store: OpenedStore, names: SessionNames): Promise<boolean> {
  const { rows } = await sql`
    select from holdfast.sessions s
    where s.name_key = ${sessionKeys(names).name} and s.root_session is not null`.execute(store.db);
  return rows.length > 0;
}

/** From each app's first index entry to the next app's, however many sessions there are. */
async function appsOf(store: OpenedStore): Promise<string[]> {
  const { rows } = await sql<{ app: string }>`
    with recursive found as (
      (select app, app_key from holdfast.sessions where root_session is null order by app_key limit 1)
      union all
      select next.app, next.app_key from found,
        lateral (
          select s.app, s.app_key from holdfast.sessions s
          where s.app_key > found.app_key and s.root_session is null order by s.app_key limit 1
        ) next
    ) select app from found order by app`.execute(store.db);
  return rows.map(({ app }) => app);
}
