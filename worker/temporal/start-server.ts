import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { databaseIsComplete, prepareDatabase } from './database-file.ts';
import { TemporalStartFailed } from './errors.ts';
import type { TemporalExecutable } from './executable.ts';
import { answers } from './probe.ts';
import { serverEnvironment } from './server-environment.ts';
import { terminateServers } from './server-process.ts';
import { type ServerPorts, startArguments } from './start-flags.ts';

const START_TIMEOUT = 30_000;
const PORT_TAKEN = /address already in use|can't set (frontend|UI) port/i;

/**
 * Another start may go well: a port was taken between its choice and the start, or the server has crashed, as it does in one
 * of some hundred starts on a busy machine.
 */
export class StartFailure extends TemporalStartFailed {}

export interface StartOptions {
  folder: string;
  executable: TemporalExecutable;
  ports: ServerPorts;
  address: string;
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
  onSpawned: (pid: number) => void;
}

/**
 * Starts a server that outlives this process and returns when it answers.
 *
 * @throws {StartFailure} another program has one of the ports, or the server has crashed
 * @throws {TemporalStartFailed} it ended, or didn't answer within 30 s; with the last lines of its log
 */
export async function startServer(options: StartOptions): Promise<void> {
  const { folder, executable, ports, address, env, signal, onSpawned } = options;
  prepareDatabase(folder);
  const log = new ServerLog(folder);
  try {
    const child = spawn(executable.path, startArguments(folder, ports, executable.flags), {
      cwd: folder,
      env: serverEnvironment(env),
      stdio: ['ignore', log.descriptor, log.descriptor],
      detached: true,
      windowsHide: true,
    });
    child.unref();
    if (child.pid !== undefined) onSpawned(child.pid);
    const { promise: cutShort, reject } = Promise.withResolvers<never>();
    child.on('error', (error) =>
      reject(new TemporalStartFailed(`can't be run (${error.message})`, log.file, '')),
    );
    child.once('exit', (code, killedBy) => {
      const { tail, crashed } = log.end();
      const Failure = crashed || PORT_TAKEN.test(tail) ? StartFailure : TemporalStartFailed;
      reject(new Failure(`ended at once (${killedBy ?? `exit code ${code}`})`, log.file, tail));
    });
    const onAbort = () => reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const probing = new AbortController();
    try {
      if (!(await Promise.race([answers(address, START_TIMEOUT, probing.signal), cutShort]))) {
        throw new TemporalStartFailed(
          `didn't answer within ${START_TIMEOUT / 1000} s`,
          log.file,
          log.end().tail,
        );
      }
      databaseIsComplete(folder);
    } catch (error) {
      // A child that could not be started has no id, and Node would end this process's own group in its place.
      if (child.pid !== undefined) child.kill();
      await terminateServers(folder);
      throw error;
    } finally {
      probing.abort();
      signal?.removeEventListener('abort', onAbort);
      child.removeAllListeners();
    }
  } finally {
    log.close();
  }
}

const ROTATE_AT = 4 * 1024 * 1024;
const TAIL_BYTES = 256 * 1024;
const TAIL_LINES = 12;
/** Behind it stand the stacks of all that the server was doing. */
const CRASH = /^(?:panic|fatal error): /m;

/** The embedded server's log of one start: appended to `temporal.log`, of which one older file is kept. */
class ServerLog {
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
