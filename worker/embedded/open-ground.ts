import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { setVariables } from '../../src/environment.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { Closing } from '../closing.ts';
import { defaultCacheFolder } from '../temporal/cache-folder.ts';
import { openTemporal, type TemporalTarget } from '../temporal/connect.ts';
import { retriesUntilClosed } from '../temporal/retries-until-closed.ts';

/** What an embedded environment stands on. */
export interface Ground {
  server: TemporalTarget;
  store: OpenedStore;
  connection: Connection;
  native: NativeConnection;
}

export interface GroundOptions {
  /** The caller owns it. */
  folder: string;
  /** Defaults to `process.env`. */
  env?: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
  /** The server stays up where the rest is closed, to be found again by its folder. Defaults to false. */
  keepsServer?: boolean;
}

/** Opens a Temporal server, a store that begins with a copy of a made one, and the connections to the server. */
export async function openGround(closing: Closing, options: GroundOptions): Promise<Ground> {
  const { folder, onProgress, keepsServer = false } = options;
  const env = setVariables(options.env);
  const template = join(defaultCacheFolder(env), 'stores');
  const [server, store] = await all(
    closing.of(openTemporal({ folder, env, onProgress }), (opened) =>
      keepsServer ? undefined : opened.stop?.(),
    ),
    closing.of(openStore({ folder, template, onProgress }), (opened) => opened.close()),
  );
  const connection = await Connection.connect({
    ...server.connectionOptions,
    interceptors: retriesUntilClosed(),
  });
  closing.add(() => connection.close());
  const native = await NativeConnection.connect(server.connectionOptions);
  closing.add(() => native.close());
  return { server, store, connection, native };
}

/** Waits for both, so that nothing is still being opened when the first failure is reported. */
async function all<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === 'rejected') throw first.reason;
  if (second.status === 'rejected') throw second.reason;
  return [first.value, second.value];
}
