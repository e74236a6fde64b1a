import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const LAST_LINES = 15;
/** Characters; lines of the Temporal server end in their stack. */
const LINE_END = 400;
const POLL_INTERVAL = 100;

/** A program in the place of a container: it has a process group of its own, and its output goes to a file. */
export interface NativeProcess {
  readonly name: string;
  readonly log: string;
  /** Rejects when it ends without having been told to; never resolves. */
  readonly failed: Promise<never>;
  /**
   * SIGTERM, and SIGKILL after `graceMs` milliseconds, as `docker stop` does it.
   *
   * @returns its exit code; undefined where it was killed
   */
  stop(graceMs: number): Promise<number | undefined>;
}

export interface NativeProgram {
  name: string;
  command: readonly [string, ...string[]];
  env: NodeJS.ProcessEnv;
  cwd: string;
  log: string;
}

export function startProcess({ name, command, env, cwd, log }: NativeProgram): NativeProcess {
  const output = openSync(log, 'a');
  const [file, ...args] = command;
  const child = spawn(file, args, { env, cwd, stdio: ['ignore', output, output], detached: true });
  closeSync(output);
  const killWithUs = () => signal(child, 'SIGKILL');
  process.once('exit', killWithUs);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  let stopping = false;
  const failed = new Promise<never>((_resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${name} can't be started: ${error.message}`)));
    child.once('exit', (code, killedBy) => {
      process.off('exit', killWithUs);
      const how = code === null ? `ended by ${killedBy}` : `ended with code ${code}`;
      if (!stopping) reject(new Error(`${name} ${how}. Its last lines:\n${lastLines(log)}`));
    });
  });
  failed.catch(() => undefined);
  return {
    name,
    log,
    failed,
    async stop(graceMs) {
      stopping = true;
      if (child.exitCode === null && child.signalCode === null) {
        signal(child, 'SIGTERM');
        const timer = setTimeout(() => signal(child, 'SIGKILL'), graceMs);
        await ended;
        clearTimeout(timer);
      }
      return child.exitCode ?? undefined;
    },
  };
}

/** Runs a program to its end. @throws Error with its last lines where that isn't 0. */
export async function runToEnd(program: NativeProgram): Promise<void> {
  const { name, command, env, cwd, log } = program;
  const output = openSync(log, 'a');
  const [file, ...args] = command;
  const child = spawn(file, args, { env, cwd, stdio: ['ignore', output, output] });
  closeSync(output);
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  try {
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`${name} ended with code ${code}. Its last lines:\n${lastLines(log)}`);
  } finally {
    process.off('exit', killWithUs);
  }
}

/** Repeats a check until it succeeds, for `timeoutMs` milliseconds. @throws the check's last error, or the abort's reason. */
export async function until(
  timeoutMs: number,
  check: () => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(POLL_INTERVAL);
    }
  }
}

export function lastLines(file: string): string {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LAST_LINES);
  return lines.map((line) => line.slice(0, LINE_END)).join('\n');
}

function signal(child: ChildProcess, name: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
