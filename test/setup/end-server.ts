import { existsSync, realpathSync } from 'node:fs';
import { stopEmbedded } from '../../worker/temporal/embedded.ts';
import { findServers } from '../../worker/temporal/server-process.ts';

/** Ends the Temporal server of a folder whose data nobody needs any more: a polite end takes more than a second. */
export async function endServer(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  for (const pid of (await findServers(realpathSync(folder))) ?? []) process.kill(pid, 'SIGKILL');
  await stopEmbedded(folder);
}
