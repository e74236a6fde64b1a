import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { GivenCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { credentialKeysFor } from '../../src/credentials/folder-credential-keys.ts';
import { setVariables } from '../../src/environment.ts';
import { defined } from '../../src/protocol/json.ts';
import { makeFolder } from '../../src/store/engine/make-folder.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { Closing } from '../closing.ts';
import { defaultCacheFolder } from '../temporal/cache-folder.ts';
import { connectClient, openTemporal, type TemporalTarget } from '../temporal/connect.ts';

export interface EnvironmentOptions {
  /** `.holdfast`, for embedded services: the caller owns it. */
  folder: string;
  /** May name a Temporal server; without one there, the server is embedded. Defaults to `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** A store on PostgreSQL, as for `openStore`. Without one the store is embedded, and begins with a copy of a made one. */
  store?: { url: string; listen?: string } | undefined;
  /** Keys that encrypt credentials. Defaults to the keys that `env` has, else to those of an embedded store's folder. */
  credentialKeys?: GivenCredentialKeys | undefined;
  /** Data converter of the Temporal client. */
  dataConverter?: DataConverter | undefined;
  /**
   * Whether an embedded server ends with the environment, or only one that this environment has started. Otherwise it stays up, and
   * the next environment of the folder finds it.
   *
   * @default 'never'
   */
  stopsServer?: 'always' | 'if started' | 'never';
  onProgress: (line: string) => void;
}

/** A Temporal server and a store that belong together, and clients of both. Workers and gateways are opened on it. */
export interface Environment {
  server: TemporalTarget;
  store: OpenedStore;
  isEmbedded: boolean;
  credentialKeys: GivenCredentialKeys | undefined;
  /** Of `temporal`, and of workers. */
  dataConverter: DataConverter | undefined;
  temporal: Client;
  /** @param taskQueue of turns that it starts. Defaults to that of `HoldfastClient`. */
  client(taskQueue?: string): HoldfastClient;
  /** To be called after workers and gateways were closed. */
  close(): Promise<void>;
}

/** @throws errors of `openStore`, `openTemporal` and `credentialKeysFor`: all that was opened is closed then. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { folder, dataConverter, onProgress, stopsServer = 'never' } = options;
  const env = setVariables(options.env);
  const place = options.store ?? { folder, ...defined({ template: madeStores(env) }) };
  const isEmbedded = options.store === undefined;
  const credentialKeys = options.credentialKeys ?? credentialKeysFor(env, isEmbedded ? folder : undefined);
  const closing = new Closing();
  try {
    const storing = closing.of(openStore({ ...place, onProgress }), (store) => store.close());
    // A wrong address is told before a server is started for nothing.
    if (!isEmbedded) await storing;
    const [server, store] = await both(
      closing.of(openTemporal({ folder, env, onProgress }), ({ startedHere, stop }) =>
        stopsServer === 'always' || (stopsServer === 'if started' && startedHere) ? stop?.() : undefined,
      ),
      storing,
    );
    const temporal = await connectClient(server, dataConverter);
    closing.add(() => temporal.connection.close());
    const searchAttributes = server.searchAttributes === 'registered';
    return {
      ...{ server, store, isEmbedded, credentialKeys, dataConverter, temporal },
      client: (taskQueue) =>
        new HoldfastClient({ temporal, store, searchAttributes, ...defined({ taskQueue, credentialKeys }) }),
      close: () => closing.close(),
    };
  } catch (error) {
    // The error of the opening says more than an error of this closing.
    await closing.close().catch(() => undefined);
    throw error;
  }
}

/** Where ready-made stores are kept; undefined where this user can't keep any: then each new store takes seconds. */
function madeStores(env: NodeJS.ProcessEnv): string | undefined {
  const folder = join(defaultCacheFolder(env), 'stores');
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return undefined;
  }
}

/** Waits for both, so that nothing is still being opened when the first failure is reported. */
async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'rejected') throw first.reason;
  if (second.status === 'rejected') throw second.reason;
  return [first.value, second.value];
}
