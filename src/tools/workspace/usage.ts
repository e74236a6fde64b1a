import { readdir, readFile, statfs } from 'node:fs/promises';
import { runProgram } from './run-program.ts';

interface Limits {
  memory: number;
  processes: number;
  disk: number;
}

/** How often the disk is looked at, in looks at the processes. */
const DISK_EVERY = 5;

/**
 * Watches what all processes of a command use together: the limits of the kernel are for each. The disk is measured once the free space has
 * fallen by more than the command may fill, since others write to it, too.
 */
export function usageWatch(limits: Limits, root: string): (pid: number) => Promise<string | undefined> {
  let looks = 0;
  let free: number | undefined;
  return async (pid) => {
    const { processes, memory } = await usageBelow(pid, limits.processes);
    if (processes > limits.processes) return `more than ${limits.processes} processes (limits.processes)`;
    if (memory > limits.memory) return `more than ${limits.memory} bytes of memory (limits.memory)`;
    looks += 1;
    if (looks % DISK_EVERY !== 1) return undefined;
    const { bavail, bsize } = await statfs(root);
    free ??= bavail * bsize;
    const isFilled = free - bavail * bsize > limits.disk && (await bytesBelow(root)) > limits.disk;
    return isFilled ? `more than ${limits.disk} bytes on the disk (limits.disk)` : undefined;
  };
}

/** Processes started by a process, and theirs, with their resident memory in bytes. */
async function usageBelow(pid: number, most: number): Promise<{ processes: number; memory: number }> {
  const found = [pid];
  let memory = 0;
  // Some belong to the wall.
  for (let at = 0; at < found.length && found.length <= most + WALL; at += 1) {
    const folder = `/proc/${found[at]}`;
    memory += 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(await contentOf(`${folder}/status`))?.[1] ?? 0);
    for (const thread of await readdir(`${folder}/task`).catch(() => [])) {
      const children = await contentOf(`${folder}/task/${thread}/children`);
      found.push(...children.split(' ').filter(Boolean).map(Number));
    }
  }
  return { processes: found.length - WALL, memory };
}

/** Processes of the wall itself: two of bubblewrap, and two by which a proxy is reached. */
const WALL = 4;

/** Empty for a process that has ended. */
async function contentOf(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}

async function bytesBelow(root: string): Promise<number> {
  const { stdout } = await runProgram({
    command: 'du',
    args: ['-skx', root],
    directory: '/',
    timeout: 10_000,
    abortSignal: undefined,
  });
  return 1024 * Number.parseInt(stdout, 10);
}
