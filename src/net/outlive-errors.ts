import type { EventEmitter } from 'node:events';

/** Milliseconds between two warnings of one server. */
const QUIET = 60_000;

/**
 * Has a server that listens outlive its errors, which would end the process: a connection that can't be accepted, because too many
 * files are open, is lost to its caller alone. The process gets a warning, once a minute at most.
 *
 * @param what names the server.
 */
export function outliveErrors(server: EventEmitter, what: string): void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  server.on('error', (error: NodeJS.ErrnoException) => {
    const now = performance.now();
    if (now - warnedAt < QUIET) return;
    warnedAt = now;
    const { code } = error;
    process.emitWarning(`${what}: ${error.message}`, code === undefined ? {} : { code });
  });
}
