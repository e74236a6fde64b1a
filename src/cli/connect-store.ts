import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Closing } from '../../worker/closing.ts';
import { findStoreSocket } from '../../worker/local-gateway.ts';
import { type OpenedStore, openStore } from '../store/open-store.ts';
import { CliError } from './cli-error.ts';
import { type ConnectOptions, nothingIn, openNamedStore } from './connect-folder.ts';
import { ownOrReach } from './environment/folder-access.ts';
import { storeUrl } from './environment/places.ts';

export interface ConnectedStore {
  store: OpenedStore;
  close(): Promise<void>;
}

/**
 * The store itself, for what no gateway does: the one that the environment names, or a folder's, also while another process of this user
 * owns it.
 *
 * @throws CliError where there is no such folder, or none in it; what `openStore` and `acquireFolder` throw.
 */
export async function connectStore(options: ConnectOptions): Promise<ConnectedStore> {
  const { folder, env, onProgress } = options;
  if (storeUrl(env) !== undefined) return closable(await openNamedStore(options));
  if (!existsSync(folder)) throw nothingIn(folder, 'folder');
  const access = await ownOrReach(folder, onProgress);
  if ('owner' in access) {
    const socket = findStoreSocket(folder);
    if (socket !== undefined) return closable(await openStore({ socket }));
    throw new CliError(
      `the process that owns ${folder} shares its store with nobody: end it, and repeat this`,
    );
  }
  const closing = new Closing();
  closing.add(() => access.ownership.release());
  try {
    const owned = access.ownership.folder;
    if (!existsSync(join(owned, 'store'))) throw nothingIn(folder, 'store in the folder');
    const store = await openNamedStore({ ...options, folder: owned });
    closing.add(() => store.close());
    return { store, close: () => closing.close() };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

function closable(store: OpenedStore): ConnectedStore {
  return { store, close: () => store.close() };
}
