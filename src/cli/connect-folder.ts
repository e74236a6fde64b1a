import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Closing } from '../../worker/closing.ts';
import type { FolderOwnership } from '../../worker/folder/lock.ts';
import { findStoreSocket } from '../../worker/local-gateway.ts';
import type { UiTarget } from '../../worker/temporal/ui-link.ts';
import { GatewayClient } from '../client/gateway-client.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { StoredApi } from '../client/stored-api.ts';
import { setVariables } from '../environment.ts';
import type { OpenedStore } from '../store/open-store.ts';
import { CliError } from './cli-error.ts';
import type { CommandOutput } from './command-output.ts';
import type { DirectApiOptions } from './direct-api.ts';
import { ownOrReach } from './environment/folder-access.ts';
import { knownUi, needsFolder, storeProblem, storeUrl } from './environment/places.ts';

/** How long a gateway that has gone away is waited for, milliseconds. */
const GATEWAY_PATIENCE = 2_000;

export interface ConnectOptions {
  folder: string;
  /** `HOLDFAST_STORE`, `HOLDFAST_TASK_QUEUE`, and what names a Temporal server. */
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** Options of a command that works in a folder. */
export type InFolder<Options = object> = Options &
  Pick<ConnectOptions, 'folder' | 'env'> & { json?: boolean };

export type ConnectFolderOptions = ConnectOptions & Pick<DirectApiOptions, 'session'>;

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

export interface ConnectedSessions extends Connected, StoredApi {}

export interface ConnectedStore {
  store: OpenedStore;
  close(): Promise<void>;
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
    // A command that a gateway serves needs neither Temporal nor the store: half a second of loading.
    const { openDirectApi } = await import('./direct-api.ts');
    return { ...(await openDirectApi({ ...options, folder }, closing)), close: () => closing.close() };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

/** As {@link connectFolder}, for what needs no Temporal server: none is started. */
export async function connectSessions(options: ConnectOptions): Promise<ConnectedSessions> {
  const access = await accessTo(options, storeUrl(options.env) === undefined);
  if ('api' in access) {
    const { call, sessions, approvals, jobs, artifacts, memories } = access.api;
    return { ...access, call, sessions, approvals, jobs, artifacts, memories };
  }
  const closing = new Closing();
  closing.add(() => access.ownership?.release());
  try {
    const folder = access.ownership?.folder ?? options.folder;
    const store = await openNamedStore({ ...options, folder }, closing);
    const { credentialKeysFor } = await import('../credentials/folder-credential-keys.ts');
    const { storedApi } = await import('../client/stored-api.ts');
    const { appsOf } = await import('./session-queries.ts');
    const credentialKeys = credentialKeysFor(
      setVariables(options.env),
      storeUrl(options.env) === undefined ? folder : undefined,
    );
    return {
      ...storedApi(store, credentialKeys),
      apps: () => appsOf(store),
      ui: async () => knownUi(options.env, folder),
      close: () => closing.close(),
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

/**
 * The store itself, for what no gateway does: the one that the environment names, or a folder's, also while another process of this user
 * owns it.
 *
 * @throws CliError where there is no such folder, or none in it; what `openStore` and `acquireFolder` throw.
 */
export async function connectStore(options: ConnectOptions): Promise<ConnectedStore> {
  const { folder, env, onProgress } = options;
  const closing = new Closing();
  const close = () => closing.close();
  if (storeUrl(env) !== undefined) return { store: await openNamedStore(options, closing), close };
  if (!existsSync(folder)) throw nothingIn(folder, 'folder');
  const access = await ownOrReach(folder, onProgress);
  if ('owner' in access) {
    const socket = findStoreSocket(folder);
    if (socket === undefined) {
      throw new CliError(
        `the process that owns ${folder} shares its store with nobody: end it, and repeat this`,
      );
    }
    const { openStore } = await import('../store/open-store.ts');
    const store = await openStore({ socket });
    return { store, close: () => store.close() };
  }
  closing.add(() => access.ownership.release());
  try {
    const owned = access.ownership.folder;
    if (!existsSync(join(owned, 'store'))) throw nothingIn(folder, 'store in the folder');
    return { store: await openNamedStore({ ...options, folder: owned }, closing), close };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

/** Connects for a command's work, and closes at its end. */
export async function connected<Connected extends { close(): Promise<void> }, Answer>(
  connect: (options: ConnectOptions) => Promise<Connected>,
  { folder, env }: InFolder,
  { note }: Pick<CommandOutput, 'note'>,
  work: (connection: Connected) => Promise<Answer>,
): Promise<Answer> {
  const connection = await connect({ folder, env, onProgress: note });
  try {
    return await work(connection);
  } finally {
    await connection.close();
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
function nothingIn(folder: string, what: string): CliError {
  return new CliError(
    `there is no ${what} ${folder}: nothing has run with it yet. Name another one with --folder, run an agent (holdfast ` +
      'run, holdfast dev), which makes it, or name store and server by HOLDFAST_STORE and TEMPORAL_ADDRESS',
  );
}

async function openNamedStore(
  { folder, env, onProgress }: ConnectOptions,
  closing: Closing,
): Promise<OpenedStore> {
  const url = storeUrl(env);
  const { openStore } = await import('../store/open-store.ts');
  try {
    const store = await openStore({ onProgress, ...(url === undefined ? { folder } : { url }) });
    closing.add(() => store.close());
    return store;
  } catch (error) {
    throw storeProblem(error);
  }
}
