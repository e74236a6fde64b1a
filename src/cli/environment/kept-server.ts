import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import type { Environment } from '../../../worker/environment/open-environment.ts';
import { readDevEntry } from '../../../worker/folder/dev-file.ts';
import { isAlive } from '../../../worker/folder/exclusive.ts';
import { openTemporal } from '../../../worker/temporal/connect.ts';
import { describeError } from '../cli-error.ts';
import type { BackendOptions } from './backend.ts';

/** Between two looks at the server's process, milliseconds. */
const LOOK = 1_000;
/** Before another try to start it, milliseconds. */
const PAUSE = 10_000;

/**
 * Starts the embedded server of an owned folder again whenever its process has ended, on the same ports where they are free: clients and
 * workers find it there by themselves. A server that the environment names is left alone.
 *
 * @returns the end of it, to be called before the environment is closed.
 */
export function keepServer(
  { server }: Pick<Environment, 'server'>,
  { folder, env, onProgress }: Pick<BackendOptions, 'folder' | 'env' | 'onProgress'>,
): () => Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  const startAgain = async () => {
    onProgress('the Temporal server has ended: it is started again');
    const { address } = await openTemporal({ folder, env, onProgress, signal });
    onProgress(
      address === server.address
        ? 'the Temporal server is up again: turns go on'
        : `the Temporal server is up at another address, ${address}: end this command, and start it again`,
    );
  };
  const keep = async () => {
    while (!signal.aborted) {
      try {
        await setTimeout(LOOK, undefined, { signal, ref: false });
        if (!isUp(folder)) await startAgain();
      } catch (error) {
        if (signal.aborted) return;
        const why = describeError(error);
        onProgress(`the Temporal server is down, another try follows in ${PAUSE / 1_000} s: ${why}`);
        await setTimeout(PAUSE, undefined, { signal, ref: false }).catch(() => undefined);
      }
    }
  };
  const keeping = server.kind === 'embedded' ? keep() : undefined;
  return async () => {
    over.abort();
    await keeping;
  };
}

const processSchema = z.object({ pid: z.number().nullable() });

/** A machine that doesn't list its processes gives no id of the server's: nothing is known then. */
function isUp(folder: string): boolean {
  const entry = readDevEntry(folder, 'temporal', processSchema);
  return entry !== undefined && (entry.pid === null || isAlive(entry.pid));
}
