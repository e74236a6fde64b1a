import { readFileSync, rmSync } from 'node:fs';
import { z } from 'zod';
import { writeJsonAtomically } from './atomic-write.ts';

const SQLITE_BUSY = 5;

const ownerSchema = z.object({ pid: z.number().int().positive(), since: z.iso.datetime() });

/** The holder of a lock: process id and start (ISO 8601). */
export type LockOwner = z.infer<typeof ownerSchema>;

export interface ExclusiveHold {
  /** Frees the lock; calling it again does nothing. */
  release(): void;
}

/**
 * Takes the machine-wide lock that `file` stands for, or returns undefined if someone holds it, be it this
 * process. The lock is an open exclusive SQLite transaction: the operating system frees it when the process
 * dies, however it dies. `ownerFile` names the holder for people; it has no part in the locking.
 *
 * No other code may open and close `file` in this process: POSIX would drop the lock with the first close.
 */
export function tryHoldExclusively(file: string, ownerFile: string): ExclusiveHold | undefined {
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
    const owner: LockOwner = { pid: process.pid, since: new Date().toISOString() };
    writeJsonAtomically(ownerFile, { v: 1, ...owner });
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  let held = true;
  return {
    release() {
      if (!held) return;
      held = false;
      rmSync(ownerFile, { force: true });
      database.close();
    },
  };
}

/** The process that holds the lock, as far as it has said so: undefined if the file is absent or of a dead one. */
export function readLockOwner(ownerFile: string): LockOwner | undefined {
  let text: string;
  try {
    text = readFileSync(ownerFile, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const owner = ownerSchema.safeParse(JSON.parse(text));
  return owner.success && isAlive(owner.data.pid) ? owner.data : undefined;
}

/** Whether there is a process of this id on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === SQLITE_BUSY;
}

type Sqlite = typeof import('node:sqlite');

let loaded: Sqlite | undefined;

/**
 * `node:sqlite` without the "experimental feature" warning that Node 22 prints when it is loaded. The load is
 * synchronous, so that no other warning can fall into the moment in which this one is held back.
 */
function loadSqlite(): Sqlite {
  if (loaded) return loaded;
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (/^SQLite is an experimental feature/.test(String(warning))) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  }) as typeof process.emitWarning;
  try {
    loaded = process.getBuiltinModule('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
  return loaded;
}
