import { randomUUID } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { ToolError } from '../tool-error.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NONBLOCK, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;
/** On macOS `O_NOFOLLOW_ANY`: no part of the path may be a link. On Linux a path has one part below a folder that is held. */
const NO_LINK = process.platform === 'darwin' ? 0x2000_0000 : O_NOFOLLOW;
const LONGEST_PATH = 4_096;
/** Bytes of a file that is read as a whole. */
export const MOST_FILE_BYTES = 5 * 1024 * 1024;

/** A tool can't do this with a file. Another attempt would get the same arguments. */
export function fileRefused(path: string, problem: string): ToolError {
  const message = `${visibleExcerpt(JSON.stringify(path), 300)}: ${problem}`;
  return new ToolError(message, { code: 'HOLDFAST_FILE_REFUSED', retryable: false });
}

/**
 * Names on the way from the root to a file. Absolute paths below the root are taken, too: commands print those.
 *
 * @throws ToolError HOLDFAST_FILE_REFUSED for a path that leads elsewhere, or that no file can have.
 */
export function namesIn(path: string, root?: string): string[] {
  const inner = root !== undefined && `${path}/`.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
  if (path.length > LONGEST_PATH) throw fileRefused(path, 'the path is too long');
  if (path.includes('\0')) throw fileRefused(path, 'no path has a NUL character');
  if (inner.startsWith('/'))
    throw fileRefused(path, 'give a path from the root of the workspace, as src/a.ts');
  const names = inner.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw fileRefused(path, 'a path must not have .. in it');
  return names;
}

/**
 * A folder that is held open. Its entries are reached through it, so that a link that a command puts in the place of its path, at any
 * moment, leads nowhere.
 */
export class HeldFolder {
  readonly #handle: FileHandle;
  readonly #path: string;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path;
  }

  /** @param root has no links in its path, which nobody but this process may change. */
  static async open(root: string): Promise<HeldFolder> {
    return new HeldFolder(await open(root, O_RDONLY | O_DIRECTORY | NO_LINK), root);
  }

  /** Path by which this process reaches an entry, which may be a link: follow none. */
  at(name: string): string {
    // Not joined: `.` would be lost, and the folder itself be a link.
    return `${this.#path}/${name}`;
  }

  async folder(name: string): Promise<HeldFolder> {
    return await HeldFolder.open(this.at(name));
  }

  /** Opens a regular file to read it. No FIFO, and no device, keeps it waiting. */
  async file(name: string, path: string): Promise<{ handle: FileHandle; size: number }> {
    const handle = await open(this.at(name), O_RDONLY | NO_LINK | O_NONBLOCK);
    const stat = await handle.stat();
    if (stat.isFile()) return { handle, size: stat.size };
    await handle.close();
    throw fileRefused(path, `it is a ${stat.isDirectory() ? 'folder' : 'special file'}`);
  }

  /** Entries by name. @param path for messages. */
  async entries(path: string): Promise<{ name: string; stat: BigIntStats }[]> {
    const names = (await readdir(this.at('.'))).sort();
    if (names.some((name) => name.includes('\ufffd'))) throw fileRefused(path, 'a name in it is not UTF-8');
    const found = await Promise.all(names.map(async (name) => ({ name, stat: await this.stat(name) })));
    return found.flatMap(({ name, stat }) => (stat === undefined ? [] : [{ name, stat }]));
  }

  /** Undefined where nothing has the name. */
  async stat(name: string): Promise<BigIntStats | undefined> {
    return await lstat(this.at(name), { bigint: true }).catch(unless('ENOENT'));
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}

/** For `catch`: undefined in the place of these failures. */
export function unless(...codes: string[]): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error;
  };
}

/** Words for failures that a path causes; others, of a disk for one, stay as they are. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of it is a link or no folder; links are not followed: name the file itself',
  ELOOP: 'it is a link, and links are not followed: name the file itself',
  ENXIO: 'it is a special file',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'a name in it is too long',
  EACCES: 'its mode refuses access',
};

/**
 * Works in the folder that has the last name of a path.
 *
 * @param makes folders that are not there.
 * @throws ToolError HOLDFAST_FILE_REFUSED
 */
export async function inFolderOf<T>(
  root: string,
  path: string,
  work: (folder: HeldFolder, name: string) => Promise<T>,
  { makes = false } = {},
): Promise<T> {
  const names = namesIn(path, root);
  const last = names.pop() ?? '.';
  let folder = await HeldFolder.open(root);
  try {
    for (const name of names) {
      if (makes) await mkdir(folder.at(name)).catch(unless('EEXIST'));
      const next = await folder.folder(name);
      await folder.close();
      folder = next;
    }
    return await work(folder, last);
  } catch (error) {
    const problem = PROBLEMS[(error as NodeJS.ErrnoException).code ?? ''];
    throw problem === undefined ? error : fileRefused(path, problem);
  } finally {
    await folder.close();
  }
}

/** @throws ToolError HOLDFAST_FILE_REFUSED */
export async function readBeneath(root: string, path: string): Promise<Buffer> {
  return await inFolderOf(root, path, async (folder, name) => {
    const { handle, size } = await folder.file(name, path);
    try {
      if (size > MOST_FILE_BYTES) {
        throw fileRefused(path, `it has ${size} bytes, and at most ${MOST_FILE_BYTES} are read`);
      }
      if (size === 0) return Buffer.alloc(0);
      return Buffer.concat(await handle.createReadStream({ end: size - 1 }).toArray());
    } finally {
      await handle.close();
    }
  });
}

/** Makes a file, or another one in the place of a regular file: whole, or not at all. @throws ToolError HOLDFAST_FILE_REFUSED */
export async function writeBeneath(root: string, path: string, text: string): Promise<void> {
  const write = async (folder: HeldFolder, name: string) => {
    const known = await folder.stat(name);
    if (known !== undefined && !known.isFile()) throw fileRefused(path, `it is a ${kindOfEntry(known)}`);
    const beside = folder.at(`.${randomUUID()}.tmp`);
    const handle = await open(beside, O_WRONLY | O_CREAT | O_EXCL | NO_LINK);
    try {
      await handle.writeFile(text);
      if (known !== undefined) await handle.chmod(Number(known.mode) & 0o777);
      await rename(beside, folder.at(name));
    } finally {
      await handle.close();
      await rm(beside, { force: true });
    }
  };
  await inFolderOf(root, path, write, { makes: true });
}

export function kindOfEntry(stat: BigIntStats): 'file' | 'folder' | 'link' | 'special file' {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'folder';
  return stat.isSymbolicLink() ? 'link' : 'special file';
}

/** An entry, in the folder that is held until the next one is asked for. */
export interface WalkedEntry {
  path: string;
  kind: 'file' | 'folder' | 'link';
  stat: BigIntStats;
  folder: HeldFolder;
  name: string;
}

/**
 * Folders, files and links, each folder before its entries. Special files are left out. The owner may read all of them afterwards: a
 * command may have taken these rights away.
 *
 * @param levels of folders, at most. @throws ToolError HOLDFAST_FILE_REFUSED for more, and for names that are no text.
 */
export async function* walk(
  folder: HeldFolder,
  levels: number,
  inside = '',
): AsyncGenerator<WalkedEntry, void, void> {
  for (const { name, stat: found } of await folder.entries(inside)) {
    const path = `${inside}${name}`;
    const kind = kindOfEntry(found);
    if (kind === 'special file') continue;
    const missing = { folder: 0o700n, file: 0o400n, link: 0n }[kind] & ~found.mode;
    if (missing !== 0n) await chmod(folder.at(name), Number((found.mode & 0o777n) | missing));
    const stat = missing === 0n ? found : await folder.stat(name);
    if (stat === undefined) continue;
    yield { path, kind, stat, folder, name };
    if (kind !== 'folder') continue;
    if (levels === 0) throw fileRefused(path, 'it is too many levels deep');
    const inner = await folder.folder(name);
    try {
      yield* walk(inner, levels - 1, `${path}/`);
    } finally {
      await inner.close();
    }
  }
}
