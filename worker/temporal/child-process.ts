import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { defined } from '../../src/protocol/json.ts';

export interface RunResult {
  /** Undefined if it couldn't be started or was ended by a signal. */
  exitCode: number | undefined;
  stdout: string;
  stderr: string;
  /** Why there is no exit code. */
  failure: string | undefined;
}

export interface RunOptions {
  env: NodeJS.ProcessEnv;
  cwd?: string;
  /** Milliseconds, after which it is ended. */
  timeout: number;
  signal?: AbortSignal | undefined;
  onErrorLine?: (line: string) => void;
}

const INTERRUPT_GRACE = 2_000;

/**
 * Runs a program to its end, in a process group of its own, so that ending it also ends what it has started.
 * Its failures are in the result, not thrown; only an abort is.
 *
 * @throws the signal's reason
 */
export async function run(file: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
  options.signal?.throwIfAborted();
  const child = spawn(file, args, {
    env: options.env,
    ...defined({ cwd: options.cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const result: RunResult = { exitCode: undefined, stdout: '', stderr: '', failure: undefined };
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  child.on('error', (error) => {
    result.failure = error.message;
    resolve();
  });
  // There is no output where no process could be started.
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    result.stdout += text;
  });
  let unfinishedLine = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    result.stderr += text;
    const lines = (unfinishedLine + text).split('\n');
    unfinishedLine = lines.pop() ?? '';
    for (const line of lines) options.onErrorLine?.(line);
  });
  child.on('close', (exitCode, killedBy) => {
    result.exitCode = exitCode ?? undefined;
    if (killedBy) result.failure ??= `ended by ${killedBy}`;
    resolve();
  });
  let killTimer: NodeJS.Timeout | undefined;
  const end = () => {
    // First SIGINT: compilers and their drivers then remove their temporary folders.
    signalGroup(child, 'SIGINT');
    killTimer = setTimeout(() => signalGroup(child, 'SIGKILL'), INTERRUPT_GRACE);
  };
  const timer = setTimeout(() => {
    result.failure = `not done after ${options.timeout / 1000} s`;
    end();
  }, options.timeout);
  const endNow = () => signalGroup(child, 'SIGKILL');
  options.signal?.addEventListener('abort', end, { once: true });
  process.once('exit', endNow);
  try {
    await ended;
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    options.signal?.removeEventListener('abort', end);
    process.removeListener('exit', endNow);
  }
  options.signal?.throwIfAborted();
  return result;
}

function signalGroup(child: ChildProcess, signal: 'SIGINT' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  if (process.platform === 'win32') {
    spawnSync('taskkill', ['/pid', String(child.pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    return;
  }
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // macOS says EPERM of a group whose processes have all ended.
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

/** Every executable file of this name in the folders of PATH, in their order. */
export async function findOnPath(program: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const found: string[] = [];
  for (const folder of new Set(pathFolders(env))) {
    const file = join(folder, executableName(program));
    if (await isExecutableFile(file)) found.push(file);
  }
  return found;
}

export function pathFolders(env: NodeJS.ProcessEnv): string[] {
  const name = Object.keys(env).find((key) => key.toUpperCase() === 'PATH');
  return (name === undefined ? '' : (env[name] ?? '')).split(delimiter).filter((folder) => folder !== '');
}

export function executableName(program: string): string {
  return process.platform === 'win32' ? `${program}.exe` : program;
}

export async function isExecutableFile(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
