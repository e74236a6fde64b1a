import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Passes connections on, until it is cut and as soon as it is mended. */
export class CuttableLine {
  readonly #server: Server;
  readonly #target: NetConnectOpts;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(server: Server, target: NetConnectOpts) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (socket) => this.#pass(socket));
  }

  /** To a port of this machine. */
  static async toPort(port: number): Promise<CuttableLine> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CuttableLine(server, { port, host: '127.0.0.1' });
  }

  /** To a socket, by another one. */
  static async toPath(path: string): Promise<CuttableLine> {
    const server = createServer().listen(join(tmpdir(), `holdfast-line-${randomUUID().slice(0, 8)}`));
    await once(server, 'listening');
    return new CuttableLine(server, { path });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get path(): string {
    return String(this.#server.address());
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(near: Socket): void {
    if (this.#isCut) {
      near.destroy();
      return;
    }
    const far = connect(this.#target);
    const pair = [near, far];
    for (const socket of pair) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        for (const each of pair) each.destroy();
      });
    }
    near.pipe(far).pipe(near);
  }
}
