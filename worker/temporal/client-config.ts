import { existsSync } from 'node:fs';
import {
  type ClientConfigProfile,
  type ClientConnectConfig,
  loadClientConfigProfile,
  toClientOptions,
} from '@temporalio/envconfig';
import type { NativeConnectionOptions } from '@temporalio/worker';
import { setVariables } from '../../src/environment.ts';
import { defined } from '../../src/protocol/json.ts';
import { TemporalConfigInvalid } from './errors.ts';

const SELECTORS = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'];
const HEADER_VALUE = /^[\x20-\x7e]*$/;

/** Connection options that clients (`Connection`) and workers (`NativeConnection`) share. */
export type TemporalConnectionOptions = Pick<
  NativeConnectionOptions,
  'address' | 'tls' | 'apiKey' | 'metadata'
> & { address: string };

export interface ConfiguredServer {
  connectionOptions: TemporalConnectionOptions;
  namespace: string;
}

/**
 * The server that the environment names, read as every Temporal SDK reads it (TEMPORAL_ADDRESS,
 * TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS*, TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE); undefined if
 * none of TEMPORAL_ADDRESS, TEMPORAL_PROFILE and TEMPORAL_CONFIG_FILE is set.
 *
 * @throws {TemporalConfigInvalid} naming the variable or the place in the file, never a value that may be secret
 */
export function configuredServer(given: NodeJS.ProcessEnv): ConfiguredServer | undefined {
  const env = setVariables(given);
  if (!namesServer(env)) return undefined;
  const file = env.TEMPORAL_CONFIG_FILE;
  if (file && !existsSync(file)) {
    throw new TemporalConfigInvalid(`TEMPORAL_CONFIG_FILE names a file that doesn't exist: ${file}`);
  }
  const { connectionOptions, namespace } = load(env);
  const { apiKey, metadata, tls } = connectionOptions;
  const address = connectionOptions.address ?? 'localhost:7233';
  if (!/^[^\s/@]+$/.test(address)) {
    throw new TemporalConfigInvalid(
      'The Temporal address (TEMPORAL_ADDRESS, or `address` in the profile) is not of the form host:port, ' +
        'for example localhost:7233; it takes no scheme, path or blanks.',
    );
  }
  assertHeaderValue('The API key (TEMPORAL_API_KEY, or `api_key` in the profile)', apiKey);
  for (const [name, value] of Object.entries(metadata ?? {})) {
    if (typeof value === 'string') assertHeaderValue(`The value of the gRPC header "${name}"`, value);
  }
  return {
    connectionOptions: {
      address,
      ...defined({ tls, apiKey, metadata }),
    },
    namespace: namespace ?? 'default',
  };
}

function load(env: Record<string, string>): ClientConnectConfig {
  try {
    const profile = loadClientConfigProfile({ overrideEnvVars: env });
    assertWholeKeyPair(profile);
    return toClientOptions(profile);
  } catch (error) {
    if (error instanceof TemporalConfigInvalid) throw error;
    // Without cause and message: the TOML parser quotes the lines around a mistake, and they may hold a key.
    throw new TemporalConfigInvalid(`The Temporal configuration can't be read: ${withoutContent(error)}`);
  }
}

function assertWholeKeyPair({ tls }: ClientConfigProfile): void {
  if (!tls || (tls.clientCert === undefined) === (tls.clientKey === undefined)) return;
  const [present, absent] = tls.clientCert ? ['certificate', 'KEY'] : ['key', 'CERT'];
  throw new TemporalConfigInvalid(
    `There is a TLS client ${present} without its counterpart: set TEMPORAL_TLS_CLIENT_${absent}_PATH or ` +
      `TEMPORAL_TLS_CLIENT_${absent}_DATA.`,
  );
}

function withoutContent(error: unknown): string {
  const { line, column, message } = error as { line?: unknown; column?: unknown; message?: unknown };
  if (typeof line === 'number') return `its file is not valid TOML at line ${line}, column ${String(column)}`;
  return String(message).split('\n')[0] ?? 'unknown reason';
}

/** gRPC quotes a value that it can't send in its error message. */
function assertHeaderValue(what: string, value: string | undefined): void {
  if (value === undefined || HEADER_VALUE.test(value)) return;
  throw new TemporalConfigInvalid(
    `${what} contains a line break or another character that a header can't carry. Remove it; often it is the ` +
      'line break at the end of a file.',
  );
}

/** Whether the environment names a Temporal server, so that none is embedded. */
export function namesServer(env: NodeJS.ProcessEnv): boolean {
  return SELECTORS.some((name) => env[name]);
}

/** The environment, naming no Temporal server: for a server that is always embedded. */
export function withoutServer(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !SELECTORS.includes(name)));
}
