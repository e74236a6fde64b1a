import {
  type Environment,
  type EnvironmentOptions,
  openEnvironment,
} from '../../../worker/environment/open-environment.ts';
import { InvalidStoreUrl } from '../../store/store-errors.ts';
import { CliError, withSection } from '../cli-error.ts';
import { listenUrl, storeUrl } from './places.ts';

export interface BackendOptions extends Pick<EnvironmentOptions, 'folder' | 'stopsServer' | 'onProgress'> {
  /** Names server and store; what it doesn't name is the folder's. */
  env: NodeJS.ProcessEnv;
}

/** What turns are kept by: a Temporal server and a store. */
export async function openBackend(options: BackendOptions): Promise<Environment> {
  const url = storeUrl(options.env);
  const store = url === undefined ? undefined : { url, ...listenUrl(options.env) };
  try {
    return await openEnvironment({ ...options, store });
  } catch (error) {
    if (!(error instanceof InvalidStoreUrl)) throw error;
    const variable = error.message.startsWith('listen:') ? 'HOLDFAST_STORE_LISTEN' : 'HOLDFAST_STORE';
    throw new CliError(`${variable}: ${withSection(error)}`);
  }
}
