import { lookup } from 'node:dns/promises';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkAddresses } from '../../net/public-address.ts';

/** Name of the socket in the proxy's folder. */
export const PROXY_SOCKET = 'socket';

export interface HostProxy {
  /** Folder with its socket. */
  folder: string;
  close(): Promise<void>;
}

/**
 * A proxy for HTTPS that connects to named hosts alone, at port 443 and at public addresses; one that is named with a port, at that port and
 * wherever it is. It listens on a socket in a folder of its own.
 */
export async function startHostProxy(
  hosts: readonly string[],
  owner: { uid: number; gid: number } | undefined,
): Promise<HostProxy> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-proxy-'));
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    // A connection that breaks is the command's affair.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer((_request, response) => {
    response.writeHead(403).end('the sandbox lets only HTTPS out, to the hosts that the app names\n');
  });
  server.on('connection', keep);
  server.on('connect', async ({ url = '' }, client: Socket, head: Buffer) => {
    try {
      const [host, port] = hostAndPort(url.toLowerCase());
      const byPort = hosts.includes(`${host}:${port}`);
      if (!byPort && !(port === 443 && hosts.includes(host))) throw new Error('not named');
      const addresses = (await lookup(host, { all: true })).map(({ address }) => address);
      checkAddresses(host, addresses, byPort);
      const upstream = connect({ host: addresses[0] as string, port });
      keep(upstream);
      upstream.on('connect', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.write(head);
        upstream.pipe(client).pipe(upstream);
      });
      upstream.on('close', () => client.destroy());
      client.on('close', () => upstream.destroy());
    } catch {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    }
  });
  const path = join(folder, PROXY_SOCKET);
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  if (owner !== undefined) {
    for (const each of [path, folder]) await chown(each, owner.uid, owner.gid);
  }
  return {
    folder,
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function hostAndPort(authority: string): [string, number] {
  const { hostname, port } = new URL(`tcp://${authority}`);
  return [hostname.replace(/^\[|\]$/g, ''), Number(port)];
}
