import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import type { HoldfastLogger } from '../activities/logging.ts';
import type { HoldfastApi } from '../src/client/holdfast-api.ts';
import type { GatewayAbout } from '../src/contract/about.ts';
import type { GivenCredentialKeys } from '../src/credentials/credential-keys.ts';
import type { GatewayRecords } from '../src/gateway/gateway-records.ts';
import type { GatewaySettings } from '../src/gateway/gateway-settings.ts';
import type { Readiness } from '../src/gateway/health/readiness.ts';
import { defined } from '../src/protocol/json.ts';
import { readDevEntry, writeDevEntry } from './folder/dev-file.ts';
import { readLockOwner } from './folder/exclusive.ts';
import type { FolderOwnership } from './folder/lock.ts';
import { jsonLogger } from './json-logger.ts';

/** The entry of `dev.json` that says where a folder's gateway is. */
const KEY = 'gateway';
/** The entry that outlives it. */
const PORT = 'gatewayPort';
/** The entry that says where its store is joined. */
const STORE = 'store';

const entrySchema = z.object({
  url: z.url(),
  token: z.string().min(1),
  pid: z.number().int().positive(),
});

const storeSchema = z.object({ socket: z.string().min(1), pid: z.number().int().positive() });

/** How long a gateway on this machine may take to answer, milliseconds. */
const ANSWER_TIMEOUT = 2_000;

export interface LocalGatewayOptions {
  /** Ownership of the folder: only its owner serves it. */
  ownership: FolderOwnership;
  client: HoldfastApi;
  about: () => GatewayAbout;
  ready: () => Promise<Readiness>;
  /** Settings that `defineGateway` has made. */
  settings?: GatewaySettings;
  /** The store: without it there are no API keys. Where it is embedded, commands of this user join it, by its `socket`. */
  records?: GatewayRecords & { readonly socket?: string | undefined };
  /** The workers' credential keys: see `GatewayOptions`. */
  credentialKeys?: GivenCredentialKeys | undefined;
  /** Defaults to that of the folder's last gateway, where it is free, else to any that is. */
  port?: number;
  /** Defaults to lines of JSON on standard error, of what goes wrong only. */
  logger?: HoldfastLogger;
}

export interface LocalGateway {
  /** Without a slash at its end. */
  url: string;
  /** Callers send it as `Authorization: Bearer <token>`. */
  token: string;
  /** Goes on with other settings. */
  reconfigure(settings: GatewaySettings | undefined): void;
  /** Ends its streams and takes it out of `dev.json`. */
  close(): Promise<void>;
}

/**
 * Serves the gateway of a folder on loopback, with a token of its own, and writes both into `<folder>/dev.json` (mode 0600),
 * where {@link findLocalGateway} finds them. To be closed before the folder is released.
 *
 * @throws Error with the code EADDRINUSE for a port that is taken.
 * @example
 * const gateway = await openLocalGateway({ ownership, client, about, ready });
 */
export async function openLocalGateway(options: LocalGatewayOptions): Promise<LocalGateway> {
  const { ownership, client, about, ready, records, credentialKeys, port } = options;
  const { configuredAccess, createGateway, localAccess, serveGateway } = await import(
    '../src/gateway/index.ts'
  );
  const { swappableGateway } = await import('../src/gateway/swappable-gateway.ts');
  const token = randomBytes(32).toString('base64url');
  const logger = options.logger ?? jsonLogger({ level: 'warn' });
  const { folder } = ownership;
  const made = (settings: GatewaySettings | undefined) =>
    createGateway({
      ...{ client, about, ready, logger },
      access: configuredAccess({ settings, records, local: localAccess({ token }), logger }),
      ...defined({ settings, records, credentialKeys }),
    });
  const gateway = swappableGateway(made(options.settings));
  const serve = (at: { port?: number }) => serveGateway({ gateway, ...at });
  const served = port === undefined ? await serveWhereItWas(folder, serve) : await serve({ port });
  try {
    writeDevEntry(folder, KEY, { url: served.url, token, pid: process.pid });
    writeDevEntry(folder, PORT, Number(new URL(served.url).port));
    if (records?.socket !== undefined) {
      writeDevEntry(folder, STORE, { socket: records.socket, pid: process.pid });
    }
  } catch (error) {
    await served.close();
    throw error;
  }
  return {
    url: served.url,
    token,
    reconfigure: (settings) => gateway.swap(made(settings)),
    async close() {
      try {
        if (readDevEntry(folder, KEY, entrySchema)?.token === token) {
          writeDevEntry(folder, KEY, undefined);
          writeDevEntry(folder, STORE, undefined);
        }
      } finally {
        await served.close();
      }
    },
  };
}

/** On the port of the time before, where that is free: services may have its address, to call back about a job. */
async function serveWhereItWas<Served>(
  folder: string,
  serve: (at: { port?: number }) => Promise<Served>,
): Promise<Served> {
  const port = readDevEntry(folder, PORT, z.number().int().min(1).max(65_535));
  if (port === undefined) return await serve({});
  try {
    return await serve({ port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    return await serve({});
  }
}

/**
 * The gateway of the process that owns a folder; undefined where none answers. An entry that a dead process has left is
 * ignored.
 *
 * @throws FolderUnusable where `dev.json` is no JSON.
 * @example
 * const gateway = await findLocalGateway('.holdfast');
 * const client = gateway && new GatewayClient(gateway);
 */
export async function findLocalGateway(folder: string): Promise<{ url: string; token: string } | undefined> {
  const entry = readDevEntry(folder, KEY, entrySchema);
  if (entry === undefined || readLockOwner(join(folder, 'owner.json'))?.pid !== entry.pid) return undefined;
  const { url, token } = entry;
  return (await answers(url, token)) ? { url, token } : undefined;
}

/** Where the embedded store of a folder's owner is joined: undefined where it says nothing of it. */
export function findStoreSocket(folder: string): string | undefined {
  const entry = readDevEntry(folder, STORE, storeSchema);
  return entry?.pid === readLockOwner(join(folder, 'owner.json'))?.pid ? entry?.socket : undefined;
}

async function answers(url: string, token: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/v1/about`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_TIMEOUT),
    });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    // For any reason, no gateway answers there.
    return false;
  }
}
