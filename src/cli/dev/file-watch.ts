import { type FSWatcher, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { LoadedFile } from './child-messages.ts';
import { digestOf } from './track-files.ts';

/** Milliseconds of quiet after which a change counts: editors write in steps. */
const QUIET = 100;
/** Milliseconds between looks at all files: not every file system tells of changes, nor of folders that were missing. */
const SWEEP = 2_000;

/** Tells when a file has another content than the one that was loaded. */
export class FileWatch {
  readonly #onChange: (paths: string[]) => void;
  readonly #files = new Map<string, { digest: string; stamp: string }>();
  readonly #folders = new Map<string, FSWatcher | undefined>();
  readonly #sweep: NodeJS.Timeout;
  #quiet: NodeJS.Timeout | undefined;

  constructor(onChange: (paths: string[]) => void) {
    this.#onChange = onChange;
    this.#sweep = setInterval(() => this.#look(), SWEEP);
  }

  /** A file as it was loaded last. */
  add({ path, digest }: LoadedFile): void {
    this.#files.set(path, { digest, stamp: '' });
    this.#watchFolder(dirname(path));
    // It may have changed between its loading and now.
    this.#soon();
  }

  close(): void {
    clearInterval(this.#sweep);
    clearTimeout(this.#quiet);
    for (const watcher of this.#folders.values()) watcher?.close();
    this.#folders.clear();
    this.#files.clear();
  }

  #watchFolder(folder: string): void {
    if (this.#folders.get(folder) !== undefined) return;
    try {
      const watcher = watch(folder, () => this.#soon());
      const forget = () => {
        watcher.close();
        this.#folders.delete(folder);
      };
      // A folder that goes away, or a system without watches to spare: the sweep sees to it.
      watcher.on('error', forget);
      this.#folders.set(folder, watcher);
    } catch {
      this.#folders.set(folder, undefined);
    }
  }

  #soon(): void {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => this.#look(), QUIET);
  }

  #look(): void {
    const changed: string[] = [];
    for (const [path, known] of this.#files) {
      const stamp = stampOf(path);
      if (stamp === known.stamp) continue;
      known.stamp = stamp;
      const digest = digestOf(path);
      if (digest === known.digest) continue;
      known.digest = digest;
      changed.push(path);
    }
    if (changed.length > 0) this.#onChange(changed);
  }
}

/** One that can't be looked at, for want of a right to its folder for one, is as good as missing. */
function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'missing';
  }
}
