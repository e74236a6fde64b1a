import { openTemporal, type TemporalTarget } from '../../../worker/temporal/connect.ts';
import type { CredentialKeys } from '../../credentials/credential-keys.ts';
import { type OpenedStore, openStore } from '../../store/open-store.ts';
import { InvalidStoreUrl } from '../../store/store-errors.ts';
import { CliError, withSection } from '../cli-error.ts';
import { credentialKeysFor } from './credential-keys.ts';
import { listenUrl, storeUrl } from './places.ts';

/** What turns are kept by: a Temporal server and a store. */
export interface Backend {
  temporal: TemporalTarget;
  store: OpenedStore;
  /** What credentials are encrypted with; undefined where nothing names any. */
  credentialKeys: CredentialKeys | undefined;
}

export interface BackendOptions {
  /** For the parts that the environment doesn't name; then its caller owns it. */
  folder: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** Opens both at once. Closing the store ends it all: an embedded Temporal server outlives the process. */
export async function openBackend({ folder, env, onProgress }: BackendOptions): Promise<Backend> {
  const url = storeUrl(env);
  const credentialKeys = credentialKeysFor(env, folder);
  const place = url === undefined ? { folder } : { url, ...listenUrl(env) };
  const storing = openStore({ ...place, onProgress }).catch(aboutVariable);
  // A wrong address is told before a server is started for nothing.
  if (url !== undefined) await storing;
  const [temporal, store] = await Promise.allSettled([openTemporal({ folder, env, onProgress }), storing]);
  if (temporal.status === 'fulfilled' && store.status === 'fulfilled')
    return { temporal: temporal.value, store: store.value, credentialKeys };
  if (store.status === 'fulfilled') await store.value.close();
  throw temporal.status === 'rejected' ? temporal.reason : (store as PromiseRejectedResult).reason;
}

function aboutVariable(error: unknown): never {
  if (!(error instanceof InvalidStoreUrl)) throw error;
  const variable = error.message.startsWith('listen:') ? 'HOLDFAST_STORE_LISTEN' : 'HOLDFAST_STORE';
  throw new CliError(`${variable}: ${withSection(error)}`);
}
