import { Client, Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { setVariables } from '../../src/environment.ts';
import { defined } from '../../src/protocol/json.ts';
import { defaultCacheFolder } from './cache-folder.ts';
import { configuredServer, type TemporalConnectionOptions } from './client-config.ts';
import { connectConfigured } from './configured.ts';
import { openEmbedded, stopEmbedded } from './embedded.ts';
import { obtainExecutable } from './install.ts';
import { retriesUntilClosed } from './retries-until-closed.ts';
import { ensureSearchAttributes } from './search-attributes.ts';
import { configuredUiUrl } from './ui-link.ts';

/** Bytes. A page of a history may be larger than what gRPC takes by default, 4 MiB. */
const LARGEST_ANSWER = 64 * 1024 * 1024;

export interface TemporalOptions {
  /** The `.holdfast` folder. For an embedded server it must exist and be owned: see `acquireFolder`. */
  folder: string;
  /** Default: `process.env`. */
  env?: NodeJS.ProcessEnv;
  /** Path of a `temporal` executable for the embedded server. Default: `HOLDFAST_TEMPORAL_CLI`, else a search. */
  executable?: string;
  /** Folder of a downloaded or built server. Default: `HOLDFAST_CACHE`, else the platform's cache folder. */
  cacheFolder?: string;
  /** Lines for people about work that takes time. Default: none are made. */
  onProgress?: (line: string) => void;
  /** Warnings about things that work less well than they could. Default: `onProgress`. */
  onWarning?: (line: string) => void;
  /** Ends a search, download, build or start that is under way. */
  signal?: AbortSignal;
}

/** A Temporal server that answers, and how to connect to it. */
export interface TemporalTarget {
  /** host:port */
  address: string;
  namespace: string;
  /** For `Connection.connect` and `NativeConnection.connect`. May hold an API key: never log it. */
  connectionOptions: TemporalConnectionOptions;
  /** Base of the UI, without a slash at its end; undefined if none is known. */
  uiUrl: string | undefined;
  kind: 'configured' | 'embedded';
  /** Whether this call has started it. */
  startedHere: boolean;
  /** Whether runs may carry the attributes of `SEARCH_ATTRIBUTES`; a start with unregistered ones fails. */
  searchAttributes: 'registered' | 'missing';
  /** Stops an embedded server, also an adopted one; undefined for a configured one. */
  stop: (() => Promise<void>) | undefined;
}

/**
 * Finds or makes a Temporal server: the one that the environment names (TEMPORAL_ADDRESS, TEMPORAL_PROFILE or
 * TEMPORAL_CONFIG_FILE, read as by Temporal's SDKs), else the development server of the folder, which is
 * adopted if it is up and else started from a `temporal` executable: the configured one, one on PATH, a cached
 * one, the SDK's download, or one built with Go. An embedded server outlives the process; its database,
 * `dev.json` and log are in the folder.
 *
 * For an embedded server the caller must own the folder: two calls at once would start two servers on one
 * database.
 *
 * @throws {TemporalConfigInvalid} the environment or its configuration file is malformed
 * @throws {TemporalUnreachable} the configured server is down, refuses us or lacks the namespace
 * @throws {TemporalUnavailable} there is no executable, and none could be had; it lists every attempt
 * @throws {TemporalStartFailed} the embedded server doesn't start
 * @example
 * const { folder } = acquireFolder('.holdfast');
 * const temporal = await openTemporal({ folder, onProgress: (line) => process.stderr.write(`${line}\n`) });
 * const connection = await NativeConnection.connect(temporal.connectionOptions);
 */
export async function openTemporal(options: TemporalOptions): Promise<TemporalTarget> {
  const { signal } = options;
  const env = setVariables(options.env);
  signal?.throwIfAborted();
  const configured = configuredServer(env);
  if (!configured) return openOwn(options);
  const { connectionOptions, namespace } = configured;
  const { address } = connectionOptions;
  const uiUrl = configuredUiUrl(address, env);
  const connection = await connectConfigured(configured);
  const searchAttributes = await registerAndClose(connection, namespace, options);
  return {
    address,
    namespace,
    connectionOptions,
    uiUrl,
    kind: 'configured',
    startedHere: false,
    searchAttributes,
    stop: undefined,
  };
}

/** A client of a server that was opened; its connection is to be closed. */
export async function connectClient(
  { connectionOptions, namespace }: Pick<TemporalTarget, 'connectionOptions' | 'namespace'>,
  dataConverter?: DataConverter,
): Promise<Client> {
  const connection = await Connection.connect({
    ...connectionOptions,
    channelArgs: { 'grpc.max_receive_message_length': LARGEST_ANSWER },
    interceptors: retriesUntilClosed(),
  });
  return new Client({ connection, namespace, ...defined({ dataConverter }) });
}

async function openOwn(options: TemporalOptions): Promise<TemporalTarget> {
  const { folder, signal, onProgress = ignore } = options;
  const env = setVariables(options.env);
  const search = {
    configured: options.executable ?? env.HOLDFAST_TEMPORAL_CLI,
    cacheFolder: options.cacheFolder ?? defaultCacheFolder(env),
    env,
    onProgress,
    signal,
  };
  const server = await openEmbedded({
    folder,
    env,
    onProgress,
    signal,
    obtainExecutable: () => obtainExecutable(search),
  });
  const { address, uiUrl, startedHere } = server;
  const namespace = 'default';
  const searchAttributes = await registerAndClose(
    Connection.lazy({ address, interceptors: retriesUntilClosed() }),
    namespace,
    options,
  );
  return {
    address,
    namespace,
    connectionOptions: { address },
    uiUrl,
    kind: 'embedded',
    startedHere,
    searchAttributes,
    async stop() {
      await stopEmbedded(folder);
    },
  };
}

async function registerAndClose(
  connection: Connection,
  namespace: string,
  { onProgress = ignore, onWarning = onProgress, signal }: TemporalOptions,
): Promise<'registered' | 'missing'> {
  try {
    return await ensureSearchAttributes(connection, { namespace, onProgress, onWarning, signal });
  } finally {
    await connection.close();
  }
}

function ignore(): void {}
