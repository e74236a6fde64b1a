import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A Unix socket's path, its end mark included, is at most 104 bytes long on macOS and 108 on Linux. */
const LONGEST_PATH = 103;

export const SOCKET_FOLDER_PREFIX = 'holdfast-store-';

/** A place for a socket that no other user can open: a folder of mode 0700 of its own, or a pipe of a random name. */
export interface PrivateSocket {
  path: string;
  /** A connection to be, for pg's `stream`. */
  connection(): Socket;
  remove(): void;
}

/** @throws Error where the system's folder for temporary files has too long a path. */
export function makePrivateSocket(): PrivateSocket {
  if (process.platform === 'win32') {
    const path = `\\\\.\\pipe\\holdfast-${randomBytes(16).toString('hex')}`;
    return { path, connection: () => new PathSocket(async () => path), remove: () => undefined };
  }
  // mkdtemp makes its folder with mode 0700.
  const folder = mkdtempSync(join(tmpdir(), SOCKET_FOLDER_PREFIX));
  const path = join(folder, 's');
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (Buffer.byteLength(path) > LONGEST_PATH) {
    remove();
    throw new Error(
      `TMPDIR: ${tmpdir()} is too long a path for a socket (over ${LONGEST_PATH} bytes); set a shorter one`,
    );
  }
  return { path, connection: () => new PathSocket(async () => path), remove };
}

/** pg connects its stream to a host and port; this one knows better. */
export class PathSocket extends Socket {
  readonly #path: () => Promise<string>;

  /** @param path is asked for when the socket is connected. */
  constructor(path: () => Promise<string>) {
    super();
    this.#path = path;
  }

  override connect(): this {
    this.#path().then(
      (path) => {
        if (!this.destroyed) super.connect({ path });
      },
      (error: Error) => this.destroy(error),
    );
    return this;
  }
}
