import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { moduleFile } from '../../src/own-files.ts';
import type { LeftFolder } from './ending-process.ts';

const folders = new Map<string, LeftFolder>();
let watching: ChildProcess | undefined;

/**
 * Ends the Temporal server of a folder, which outlives its program otherwise, where this process ends or is killed, by Ctrl+C
 * for one. One child process waits for all folders.
 *
 * @param options `remove`: the folder is deleted, too.
 * @returns what calls that off.
 */
export function endWithProcess(folder: string, options: { remove: boolean }): () => void {
  folders.set(folder, { folder, ...options });
  tell();
  return () => {
    if (!folders.delete(folder)) return;
    if (folders.size > 0) return tell();
    // A child that could not be started has no id, and Node would end this process's own group in its place.
    if (watching?.pid !== undefined) watching.kill('SIGKILL');
    watching = undefined;
  };
}

function tell(): void {
  watching ??= startWatching();
  watching.stdin?.write(`${JSON.stringify([...folders.values()])}\n`);
}

function startWatching(): ChildProcess {
  const child = spawn(process.execPath, [moduleFile('worker/embedded/ending-process')], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
  });
  // Where it can't be started, or is killed, there is one precaution less.
  child.on('error', () => undefined);
  // There is no input either where no process could be started.
  child.stdin?.on('error', () => undefined);
  child.unref();
  (child.stdin as Socket | undefined)?.unref();
  return child;
}
