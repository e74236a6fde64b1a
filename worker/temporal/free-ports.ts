import { createServer } from 'node:net';
import type { ServerPorts } from './start-flags.ts';

const HOST = '127.0.0.1';

/** The wanted ports if both are free, so that links into the UI stay valid; else any two free ones. */
export async function choosePorts(wanted: ServerPorts | undefined): Promise<ServerPorts> {
  if (wanted) {
    const [grpc, ui] = await Promise.all([bindOnce(wanted.grpc), bindOnce(wanted.ui)]);
    if (grpc !== undefined && ui !== undefined) return wanted;
  }
  const [grpc, ui] = await Promise.all([bindOnce(0), bindOnce(0)]);
  if (grpc === undefined || ui === undefined) throw new Error(`no free TCP port on ${HOST}`);
  return { grpc, ui };
}

/** @returns the port that was bound and freed again, undefined if it is taken */
function bindOnce(port: number): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const server = createServer();
  server.once('error', () => resolve(undefined));
  server.listen({ port, host: HOST, exclusive: true }, () => {
    const address = server.address();
    server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : undefined));
  });
  return promise;
}
