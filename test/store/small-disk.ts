import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEGABYTE = 1024 * 1024;

/** A file system of its own that is soon full. */
export interface SmallDisk {
  folder: string;
  /** Leaves that much free. */
  fill(megabytesLeft: number): void;
  /** Gives back what `fill` took. */
  makeRoom(): void;
  /** Removes it with all that is on it. */
  remove(): void;
}

/** Needs root and Linux. Where that isn't so, or the system refuses, the answer is the reason. */
export function makeSmallDisk(megabytes: number): SmallDisk | { reason: string } {
  if (process.platform !== 'linux') return { reason: 'only Linux has a tmpfs' };
  if (process.getuid?.() !== 0) return { reason: 'only root may mount a tmpfs' };
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-disk-'));
  try {
    run('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', folder);
  } catch {
    rmdirSync(folder);
    return { reason: 'this system lets nobody mount a tmpfs' };
  }
  const ballast = join(folder, 'ballast');
  const remove = () => {
    // Lazily: what still has a file open on it goes on until it ends.
    run('umount', '-l', folder);
    rmdirSync(folder);
  };
  process.once('exit', remove);
  return {
    folder,
    fill: (megabytesLeft) => {
      rmSync(ballast, { force: true });
      const { bavail, bsize } = statfsSync(folder);
      const bytes = bavail * bsize - megabytesLeft * MEGABYTE;
      writeFileSync(ballast, Buffer.alloc(Math.max(0, bytes)));
    },
    makeRoom: () => rmSync(ballast, { force: true }),
    remove: () => {
      process.off('exit', remove);
      remove();
    },
  };
}

function run(command: string, ...options: string[]): void {
  execFileSync(command, options, { stdio: 'ignore' });
}
