import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { binary, HoldfastProcess } from './holdfast-process.ts';

const program = fileURLToPath(new URL('./in-terminal.mjs', import.meta.url));

/** Whether this machine can give a program a terminal. */
export const hasTerminals = spawnSync('python3', ['-c', 'import pty']).status === 0;

/** The built command at a terminal: what it writes, to either stream, is its `stdout`; lines that are typed end with Enter. */
export function atTerminal(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string> },
): HoldfastProcess {
  return new HoldfastProcess([process.execPath, binary, ...args], { ...options, typed: true, program });
}
