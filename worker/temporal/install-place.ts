import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const DRAFT = /\.tmp-\d+$/;

/** Moves a finished executable to where others look for it; they see all of it or nothing. */
export async function putInPlace(file: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await rename(file, target);
}

/** Removes what installs that were killed have left. Only the holder of the install lock may call it. */
export async function removeDrafts(cacheFolder: string): Promise<void> {
  const names = await readdir(cacheFolder);
  const drafts = names.filter((name) => DRAFT.test(name));
  await Promise.all(drafts.map((name) => rm(join(cacheFolder, name), { recursive: true, force: true })));
}
