import {
  type Environment,
  type EnvironmentOptions,
  openEnvironment,
} from '../../../worker/environment/open-environment.ts';
import { loadDataConverter } from './data-converter.ts';
import { listenUrl, storeProblem, storeUrl } from './places.ts';

export interface BackendOptions extends Pick<EnvironmentOptions, 'folder' | 'stopsServer' | 'onProgress'> {
  /** Names server and store; what it doesn't name is the folder's. */
  env: NodeJS.ProcessEnv;
}

/** A Temporal server and a store, which keep turns. */
export async function openBackend(options: BackendOptions): Promise<Environment> {
  const url = storeUrl(options.env);
  const store = url === undefined ? undefined : { url, ...listenUrl(options.env) };
  const dataConverter = await loadDataConverter(options.env);
  try {
    return await openEnvironment({ ...options, store, dataConverter });
  } catch (error) {
    throw storeProblem(error);
  }
}
