import { closeSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';

const ROTATE_AT = 4 * 1024 * 1024;
const TAIL_BYTES = 256 * 1024;
const TAIL_LINES = 12;
/** Behind it stand the stacks of all that the server was doing. */
const CRASH = /^(?:panic|fatal error): /m;

/** The embedded server's log of one start: appended to `temporal.log`, of which one older file is kept. */
export class ServerLog {
  readonly file: string;
  /** For the server's standard output and error; closed by `close`. */
  readonly descriptor: number;
  readonly #start: number;

  constructor(folder: string) {
    this.file = join(folder, 'temporal.log');
    if (sizeOf(this.file) > ROTATE_AT) renameSync(this.file, `${this.file}.1`);
    this.#start = sizeOf(this.file);
    this.descriptor = openSync(this.file, 'a+', 0o600);
  }

  /** The last lines since this start; those of a crash where it ended in one. */
  end(): { tail: string; crashed: boolean } {
    const end = sizeOf(this.file);
    const from = Math.max(this.#start, end - TAIL_BYTES);
    const buffer = Buffer.alloc(end - from);
    const descriptor = openSync(this.file, 'r');
    try {
      readSync(descriptor, buffer, 0, buffer.length, from);
    } finally {
      closeSync(descriptor);
    }
    const text = buffer.toString('utf8').trim();
    const crash = text.search(CRASH);
    const lines = crash < 0 ? text.split('\n').slice(-TAIL_LINES) : text.slice(crash).split('\n', TAIL_LINES);
    return { tail: lines.join('\n'), crashed: crash >= 0 };
  }

  close(): void {
    closeSync(this.descriptor);
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
