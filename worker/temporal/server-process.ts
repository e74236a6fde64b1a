import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { run } from './child-process.ts';
import { ownEnvironmentFile } from './start-flags.ts';

const GRACE = 5_000;
const POLL_INTERVAL = 25;
const LISTING_TIMEOUT = 10_000;

/**
 * Process ids of the development servers that work on this folder, by their command lines: a process id in a
 * file may by now be anyone's. Undefined if this machine doesn't list its processes.
 */
export async function findServers(folder: string): Promise<number[] | undefined> {
  const lines = process.platform === 'linux' ? await listByProc() : await listByCommand();
  if (!lines) return undefined;
  const file = ownEnvironmentFile(folder);
  const marks = [`--env-file ${file} `, `--env-file "${file}" `];
  return lines
    .filter(({ command }) => command.includes(' start-dev ') && marks.some((mark) => command.includes(mark)))
    .map(({ pid }) => pid);
}

/** Asks the servers of this folder to stop, ends them after 5 s, and returns when they are gone. */
export async function terminateServers(folder: string): Promise<void> {
  for (const [signal, patience] of [
    ['SIGTERM', GRACE],
    ['SIGKILL', GRACE],
  ] as const) {
    const servers = (await findServers(folder)) ?? [];
    if (servers.length === 0) return;
    for (const pid of servers) send(pid, signal);
    const deadline = Date.now() + patience;
    while (Date.now() < deadline) {
      if (((await findServers(folder)) ?? []).length === 0) return;
      await delay(POLL_INTERVAL);
    }
  }
  throw new Error(`the Temporal server of ${folder} can't be stopped`);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

interface ListedProcess {
  pid: number;
  /** Arguments joined by blanks, with one at the end. */
  command: string;
}

async function listByProc(): Promise<ListedProcess[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(
    pids.map(async (pid) => {
      try {
        const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
        return { pid: Number(pid), command: command.replaceAll('\0', ' ') };
      } catch {
        // It has ended since the folder was read, or is another user's.
        return undefined;
      }
    }),
  );
  return processes.filter((listed) => listed !== undefined);
}

async function listByCommand(): Promise<ListedProcess[] | undefined> {
  const options = { env: process.env, timeout: LISTING_TIMEOUT };
  const result =
    process.platform === 'win32'
      ? await run(
          'powershell',
          [
            '-NoProfile',
            '-NonInteractive',
            '-Command',
            'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.CommandLine)" }',
          ],
          options,
        )
      : await run('ps', ['-axww', '-o', 'pid=,command='], options);
  if (result.exitCode !== 0) return undefined;
  return [...result.stdout.matchAll(/^[^\S\n]*(\d+) (.*)\r?$/gm)].map(([, pid, command]) => ({
    pid: Number(pid),
    command: `${command} `,
  }));
}
