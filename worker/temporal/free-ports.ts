import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerPorts } from './start-flags.ts';

const HOST = '127.0.0.1';
const PATIENCE = 1_000;
const POLL_INTERVAL = 25;

/**
 * The wanted ports if both are free or soon become so, so that links into the UI stay valid; else any two free
 * ones. A killed process keeps its ports, and its locks on the database, for some milliseconds after it has
 * gone from the list of processes.
 */
export async function choosePorts(wanted: ServerPorts | undefined): Promise<ServerPorts> {
  const deadline = Date.now() + PATIENCE;
  while (wanted && Date.now() < deadline) {
    const [grpc, ui] = await Promise.all([bindOnce(wanted.grpc), bindOnce(wanted.ui)]);
    if (grpc !== undefined && ui !== undefined) return wanted;
    await delay(POLL_INTERVAL);
  }
  const [grpc, ui] = await Promise.all([bindOnce(0), bindOnce(0)]);
  if (grpc === undefined || ui === undefined) throw new Error(`no free TCP port on ${HOST}`);
  return { grpc, ui };
}

/** @returns the port that was bound and freed again, undefined if it is taken */
function bindOnce(port: number): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const server = createServer();
  server.on('error', () => resolve(undefined));
  server.listen({ port, host: HOST, exclusive: true }, () => {
    const address = server.address();
    server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
  });
  return promise;
}
