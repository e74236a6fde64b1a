import { existsSync } from 'node:fs';
import { acquireFolder, FolderInUse, type FolderOwnership } from '../../worker/folder/lock.ts';
import { stopEmbedded } from '../../worker/temporal/embedded.ts';
import { CliError } from './cli-error.ts';
import { processOutput } from './command-output.ts';

export interface StopOptions {
  folder: string;
  json?: boolean;
}

/** `holdfast stop`: stops the embedded Temporal server of a folder. */
export async function stopCommand({ folder, json }: StopOptions, output = processOutput()): Promise<void> {
  const say = (stopped: boolean, text: string) => (json ? output.json({ stopped }) : output.note(text));
  if (!existsSync(folder)) {
    say(false, `there is no folder ${folder}, and no Temporal server of it`);
    return;
  }
  const ownership = acquire(folder);
  try {
    const stopped = await stopEmbedded(ownership.folder);
    say(stopped, stopped ? 'the Temporal server is stopped' : 'no Temporal server runs in this folder');
  } finally {
    ownership.release();
  }
}

/** A server that somebody works with stays up. */
function acquire(folder: string): FolderOwnership {
  try {
    return acquireFolder(folder);
  } catch (error) {
    if (!(error instanceof FolderInUse) || error.owner === undefined) throw error;
    const { pid, since } = error.owner;
    throw new CliError(
      `the folder ${error.folder} is in use by process ${pid} since ${since}, and its Temporal server with it. End that ` +
        `process first (Ctrl-C or /quit in its terminal, or: kill ${pid}), then run holdfast stop again; or let it stop the ` +
        'server itself at its end (--stop-server of holdfast dev and holdfast run)',
      { cause: error },
    );
  }
}
