import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Passes connections on to a port and cuts each after so many bytes of answers, as a bad line does. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Where connections go. */
  target = 0;
  /** Bytes of answers that the next connection lets through. */
  allowance: () => number = () => Number.POSITIVE_INFINITY;
  /** How many connections were cut. */
  cuts = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#pass(socket));
  }

  static async open(): Promise<CuttingProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CuttingProxy(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(near: Socket): void {
    const far = connect(this.target, '127.0.0.1');
    let left = this.allowance();
    const cut = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', cut);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        cut();
      });
    }
    near.on('data', (chunk) => far.write(chunk));
    far.on('data', (chunk: Buffer) => {
      near.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left > 0) return;
      this.cuts += 1;
      // What was let through must arrive.
      far.destroy();
      near.end();
    });
  }
}
