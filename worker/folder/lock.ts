import { join, resolve } from 'node:path';
import { codedError } from '../../src/contract/error.ts';
import { messageOf } from '../../src/protocol/message-of.ts';
import { makeFolder } from '../../src/store/engine/make-folder.ts';
import { hideFromCommands } from '../../src/tools/workspace/bubblewrap.ts';
import { type ExclusiveHold, type LockOwner, readLockOwner, tryHoldExclusively } from './exclusive.ts';

/** Another process (or another part of this one) owns the folder. */
export class FolderInUse extends codedError('HOLDFAST_FOLDER_IN_USE') {
  readonly folder: string;
  /** Undefined in the instant before a new owner has written its name. */
  readonly owner: LockOwner | undefined;

  constructor(folder: string, owner: LockOwner | undefined) {
    const holder = owner
      ? owner.pid === process.pid
        ? `this process (pid ${owner.pid}) since ${owner.since}`
        : `process ${owner.pid} since ${owner.since}`
      : 'another process';
    super(
      `The folder ${folder} is in use by ${holder}. A folder has one owner at a time: stop that process, or use ` +
        'another folder.',
    );
    this.folder = folder;
    this.owner = owner;
  }
}

/** The folder can't be made or written to. */
export class FolderUnusable extends codedError('HOLDFAST_FOLDER_UNUSABLE') {
  readonly folder: string;

  constructor(folder: string, reason: string, options?: ErrorOptions) {
    super(
      `The folder ${folder} can't be used: ${reason}. Name a folder that this user may write to.`,
      options,
    );
    this.folder = folder;
  }
}

export interface FolderOwnership extends ExclusiveHold {
  /** Absolute path of the folder. */
  readonly folder: string;
}

/**
 * Makes this process the one owner of a `.holdfast` folder, which is created (mode 0700) if it isn't there. The
 * lock is held on `lock.sqlite` until `release()` or the death of the process; `owner.json` names the owner.
 *
 * @throws {FolderInUse} someone owns it already
 * @throws {FolderUnusable} it can't be created or written to
 * @example
 * const ownership = acquireFolder('.holdfast');
 * try {
 *   const temporal = await openTemporal({ folder: ownership.folder });
 * } finally {
 *   ownership.release();
 * }
 */
export function acquireFolder(folder: string): FolderOwnership {
  const path = resolve(folder);
  hideFromCommands(path);
  const ownerFile = join(path, 'owner.json');
  const hold = orUnusable(path, () => {
    makeFolder(path, 0o700);
    return tryHoldExclusively(join(path, 'lock.sqlite'), ownerFile);
  });
  if (!hold) throw new FolderInUse(path, readLockOwner(ownerFile));
  return { folder: path, release: () => hold.release() };
}

function orUnusable<T>(folder: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw new FolderUnusable(folder, messageOf(error), {
      cause: error,
    });
  }
}
