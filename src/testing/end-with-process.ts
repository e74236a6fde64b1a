import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const PROGRAM = fileURLToPath(new URL(`./ending-process.${EXTENSION}`, import.meta.url));

/**
 * Ends the Temporal server of a folder, which outlives its program otherwise, where this process is killed, by Ctrl+C for
 * one.
 *
 * @returns what calls that off.
 */
export function endWithProcess(folder: string, options: { remove: boolean }): () => void {
  const child = spawn(process.execPath, [PROGRAM, folder, ...(options.remove ? ['remove'] : [])], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
  });
  // Where it can't be started, there is one precaution less.
  child.on('error', () => undefined);
  child.unref();
  (child.stdin as Socket).unref();
  return () => void child.kill('SIGKILL');
}
