import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Closing } from '../../worker/closing.ts';
import { findStoreSocket } from '../../worker/local-gateway.ts';
import { GatewayClient } from '../client/gateway-client.ts';
import type { StoredApi } from '../client/stored-api.ts';
import { setVariables } from '../environment.ts';
import type { OpenedStore } from '../store/open-store.ts';
import { CliError } from './cli-error.ts';
import type { CommandOutput } from './command-output.ts';
import type { Connected, DirectApiOptions } from './direct-api.ts';
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

/**
 * Connects for a command's work, and closes at its end.
 *
 * @example
 * await connected(connectFolder, { folder: '.holdfast', env: process.env }, output, async ({ api }) => await api.turns());
 */
export async function connected<Connection, Answer>(
  connect: (options: ConnectOptions, closing: Closing) => Promise<Connection>,
  { folder, env }: InFolder,
  { note }: Pick<CommandOutput, 'note'>,
  work: (connection: Connection) => Promise<Answer>,
): Promise<Answer> {
  const closing = new Closing();
  try {
    return await work(await connect({ folder, env, onProgress: note }, closing));
  } finally {
    await closing.close();
  }
}

/**
 * Turns and sessions of a folder, or of the server and store that the environment names: through the gateway of the process
 * that owns the folder, where one lives, else directly. An embedded Temporal server that has to be started for it is stopped
 * by `closing`.
 *
 * @throws CliError where there is no such folder; what `openStore`, `openTemporal` and `acquireFolder` throw.
 */
export async function connectFolder(options: ConnectFolderOptions, closing: Closing): Promise<Connected> {
  const access = await accessTo(options, needsFolder(options.env), closing);
  if ('api' in access) return access;
  // A command that a gateway serves needs neither Temporal nor the store: half a second of loading.
  const { openDirectApi } = await import('./direct-api.ts');
  return await openDirectApi({ ...options, ...access }, closing);
}

/** As {@link connectFolder}, for what needs no Temporal server: none is started. */
export async function connectSessions(
  options: ConnectOptions,
  closing: Closing,
): Promise<Connected<StoredApi>> {
  const { env } = options;
  const isEmbedded = storeUrl(env) === undefined;
  const access = await accessTo(options, isEmbedded, closing);
  if ('api' in access) return access;
  const { folder } = access;
  const store = await openNamedStore({ ...options, folder }, closing);
  const { credentialKeysFor } = await import('../credentials/folder-credential-keys.ts');
  const { storedApi } = await import('../client/stored-api.ts');
  const { appsOf } = await import('./session-queries.ts');
  const credentialKeys = credentialKeysFor(setVariables(env), isEmbedded ? folder : undefined);
  return {
    api: storedApi(store, credentialKeys),
    apps: () => appsOf(store),
    ui: async () => knownUi(env, folder),
  };
}

/**
 * The store itself, for what no gateway does: the one that the environment names, or a folder's, also while another process of this user
 * owns it.
 *
 * @throws CliError where there is no such folder, or none in it; what `openStore` and `acquireFolder` throw.
 */
export async function connectStore(options: ConnectOptions, closing: Closing): Promise<OpenedStore> {
  const { folder, env, onProgress } = options;
  if (storeUrl(env) !== undefined) return await openNamedStore(options, closing);
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
    return await closing.of(openStore({ socket }), (store) => store.close());
  }
  closing.add(() => access.ownership.release());
  const owned = access.ownership.folder;
  if (!existsSync(join(owned, 'store'))) throw nothingIn(folder, 'store in the folder');
  return await openNamedStore({ ...options, folder: owned }, closing);
}

/** @param needed whether server or store are the folder's. */
async function accessTo(
  { folder, env, onProgress }: ConnectOptions,
  needed: boolean,
  closing: Closing,
): Promise<Connected | { folder: string }> {
  if (!needed) return { folder };
  if (!existsSync(folder)) throw nothingIn(folder, 'folder');
  const access = await ownOrReach(folder, onProgress);
  if ('owner' in access) return throughGateway(access.owner);
  const { ownership } = access;
  closing.add(() => ownership.release());
  if (storeUrl(env) === undefined && !existsSync(join(ownership.folder, 'store')))
    throw nothingIn(folder, 'store in the folder');
  return { folder: ownership.folder };
}

function throughGateway({ url, token }: { url: string; token: string }): Connected {
  const api = new GatewayClient({ url, token, patience: GATEWAY_PATIENCE });
  return { api, apps: async () => (await api.about()).apps, ui: () => api.about(), gatewayUrl: url };
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
    const opening = openStore({ onProgress, ...(url === undefined ? { folder } : { url }) });
    return await closing.of(opening, (store) => store.close());
  } catch (error) {
    throw storeProblem(error);
  }
}
