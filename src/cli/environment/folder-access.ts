import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { acquireFolder, FolderInUse, type FolderOwnership } from '../../../worker/folder/lock.ts';
import { findLocalGateway } from '../../../worker/local-gateway.ts';
import { GatewayError, GatewayUnreachable } from '../../client/client-errors.ts';
import { CliError } from '../cli-error.ts';

/** How long the owner of a folder may take to open its gateway, or to let go of the folder, milliseconds. */
const PATIENCE = 10_000;
const POLL = 100;
/** Milliseconds after which waiting is worth a word. */
const SILENCE = 1_000;

export interface ReachedOwner {
  url: string;
  token: string;
  /** Process id of the owner. */
  pid: number | undefined;
}

/**
 * Owns a folder, or finds the gateway of the process that does. One that is just starting or ending is waited for.
 *
 * @throws FolderInUse where the owner has no gateway; FolderUnusable
 */
export async function ownOrReach(
  folder: string,
  note: (line: string) => void,
): Promise<{ ownership: FolderOwnership } | { owner: ReachedOwner }> {
  const began = Date.now();
  let told = false;
  for (;;) {
    try {
      return { ownership: acquireFolder(folder) };
    } catch (error) {
      if (!(error instanceof FolderInUse)) throw error;
      const pid = error.owner?.pid;
      const gateway = await findLocalGateway(folder);
      if (gateway !== undefined) return { owner: { ...gateway, pid } };
      const waited = Date.now() - began;
      if (waited > PATIENCE) throw error;
      if (waited > SILENCE && !told) {
        told = true;
        note(
          `the folder ${folder} is in use by ${pid === undefined ? 'another process' : `process ${pid}`}: waiting for it`,
        );
      }
    }
    await setTimeout(POLL);
  }
}

/**
 * Owns a folder. An owner that is just ending is waited for.
 *
 * @throws CliError naming the process that serves the folder; FolderInUse, FolderUnusable
 */
export async function ownAlone(folder: string, note: (line: string) => void): Promise<FolderOwnership> {
  const access = await ownOrReach(folder, note);
  if ('ownership' in access) return access.ownership;
  const { pid, url } = access.owner;
  throw new CliError(
    `the folder ${resolve(folder)} is in use by ${pid === undefined ? 'a process' : `process ${pid}`}, which serves its ` +
      `gateway at ${url}: end that process${pid === undefined ? '' : ` (kill ${pid})`}, or use another folder (--folder)`,
  );
}

/** Whether the process that was spoken to is gone: nobody answers, or another one does at its address, which has a token of its own. */
export function ownerHasEnded(error: unknown): boolean {
  if (error instanceof GatewayUnreachable) return true;
  return error instanceof GatewayError && error.code === 'HOLDFAST_GATEWAY_UNAUTHENTICATED';
}
