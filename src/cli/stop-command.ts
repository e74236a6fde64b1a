import { existsSync } from 'node:fs';
import { acquireFolder, FolderInUse, type FolderOwnership } from '../../worker/folder/lock.ts';
import { stopEmbedded } from '../../worker/temporal/embedded.ts';
import { CliError } from './cli-error.ts';
import { printable } from './sessions/shown-values.ts';

/** `holdfast stop`: stops the embedded Temporal server of a folder. */
export async function stopCommand(folder: string): Promise<void> {
  if (!existsSync(folder)) {
    process.stderr.write(`there is no folder ${printable(folder)}, and no Temporal server of it\n`);
    return;
  }
  const ownership = acquire(folder);
  try {
    const stopped = await stopEmbedded(ownership.folder);
    process.stderr.write(
      stopped ? 'the Temporal server is stopped\n' : 'no Temporal server runs in this folder\n',
    );
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
      1,
      { cause: error },
    );
  }
}
