import { acquireFolder, stopEmbedded } from '../../worker/index.ts';

/** `holdfast stop`: stops the embedded Temporal server of a folder. */
export async function stopCommand(folder: string): Promise<void> {
  const ownership = acquireFolder(folder);
  try {
    const stopped = await stopEmbedded(ownership.folder);
    process.stderr.write(
      stopped ? 'the Temporal server is stopped\n' : 'no Temporal server runs in this folder\n',
    );
  } finally {
    ownership.release();
  }
}
