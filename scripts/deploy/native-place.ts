import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Service } from './compose-file.ts';

const HOST = '127.0.0.1';
/** The Temporal server's schema keeps its ports as smallint. */
const HIGHEST_PORT = 32_767;
const LOWEST_PORT = 10_000;
const root = fileURLToPath(new URL('../../', import.meta.url));

/** Ports that the containers' network keeps apart, by the variables with which the Temporal server takes others. */
const SERVER_PORTS = [
  'FRONTEND_GRPC_PORT',
  'FRONTEND_HTTP_PORT',
  'FRONTEND_MEMBERSHIP_PORT',
  'HISTORY_GRPC_PORT',
  'HISTORY_MEMBERSHIP_PORT',
  'MATCHING_GRPC_PORT',
  'MATCHING_MEMBERSHIP_PORT',
  'WORKER_GRPC_PORT',
  'WORKER_MEMBERSHIP_PORT',
] as const;

/** Ports inside of our containers. */
const OUR_PORTS = ['8080', '8081', '9464'];

/** Where `COPY` and the entry point of the image have it. */
const IMAGE_ROOT = '/app';

/** Where the services of the Compose file are without containers: all on loopback, on free ports. */
export interface NativePlace {
  temporalAddress: string;
  /** The variables of a service, of which only addresses, ports and paths differ from the Compose file's. */
  environmentOf(name: string, service: Service): Record<string, string>;
  /** A word of a service's command or check, which may be a path or a port in its container. */
  wordOf(service: Service, word: string): string;
}

/** @param temporal the address of a server that is there already; by default one is yet to be started, on free ports. */
export async function nativePlace(postgresPort: number, temporal?: string): Promise<NativePlace> {
  const ports = await freePorts(SERVER_PORTS.length + OUR_PORTS.length);
  const serverPorts = Object.fromEntries(SERVER_PORTS.map((name, index) => [name, String(ports[index])]));
  const temporalAddress = temporal ?? `${HOST}:${serverPorts.FRONTEND_GRPC_PORT}`;
  const portsHere = new Map([
    ['5432', postgresPort],
    ...OUR_PORTS.map((port, index) => [port, ports[SERVER_PORTS.length + index] ?? 0] as const),
  ]);

  function wordOf(service: Service, word: string): string {
    const port = portsHere.get(word);
    if (port !== undefined) return String(port);
    if (word === 'postgres' || word === '0.0.0.0') return HOST;
    if (word.startsWith('/')) return pathOf(service, word);
    return word
      .replaceAll('postgres:5432', `${HOST}:${postgresPort}`)
      .replaceAll('temporal:7233', temporalAddress);
  }

  return {
    temporalAddress,
    wordOf,
    environmentOf(name, service) {
      const given = Object.entries(service.environment);
      const here = Object.fromEntries(given.map(([key, value]) => [key, wordOf(service, value)]));
      return name === 'temporal' ? { ...here, ...serverPorts } : here;
    },
  };
}

function pathOf({ volumes, build }: Service, path: string): string {
  for (const volume of volumes) {
    const [source = '', target = ''] = volume.split(':');
    if (isIn(target, path)) return resolve(root, source) + path.slice(target.length);
  }
  return build !== undefined && isIn(IMAGE_ROOT, path) ? resolve(root) + path.slice(IMAGE_ROOT.length) : path;
}

function isIn(folder: string, path: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Bound before the first is freed, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = new Map<number, Server>();
  while (servers.size < count) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT + 1);
    const server = await listening(port);
    if (server !== undefined) servers.set(port, server);
  }
  for (const server of servers.values()) {
    server.close();
    await once(server, 'close');
  }
  return [...servers.keys()];
}

/** Undefined where the port is taken. */
async function listening(port: number): Promise<Server | undefined> {
  const server = createServer().listen({ port, host: HOST, exclusive: true });
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
