import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readlink, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { hasCode } from '../../contract/error.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import { ToolError } from '../tool-error.ts';
import { fileRefused, HeldFolder, namesIn, walk } from './workspace-files.ts';

const MOST_FILES = 20_000;
const MOST_LEVELS = 64;
/** Bytes of an archive for each file beside those of its own. */
const MOST_ABOUT_FILE = 16 * 1024;

/** A workspace has too many files, or such as can't be kept, or can't be restored. */
export function snapshotFailed(message: string, cause?: unknown): ToolError {
  return new ToolError(message, { code: 'HOLDFAST_SNAPSHOT_FAILED', retryable: false, cause });
}

/** Counts files against the bounds. */
function counter(mostBytes: number): (bytes: number) => void {
  let sum = 0;
  let files = 0;
  return (bytes) => {
    sum += bytes;
    files += 1;
    if (files > MOST_FILES) throw snapshotFailed(`the workspace has more than ${MOST_FILES} files`);
    if (sum > mostBytes) throw snapshotFailed(`the files of the workspace have more than ${mostBytes} bytes`);
  };
}

/** A folder as it stands. */
export interface FolderState {
  /** Another one after every change, by the times of the file system. */
  digest: string;
  /** Paths of files and links. */
  files: string[];
  /** Milliseconds since 1970. */
  changedAt: number;
}

/** @throws ToolError HOLDFAST_SNAPSHOT_FAILED for a folder that can't be kept. */
export async function stateOf(root: string, mostBytes: number): Promise<FolderState> {
  const digest = createHash('sha256');
  const count = counter(mostBytes);
  const state: FolderState = { digest: '', files: [], changedAt: 0 };
  await inRoot(root, async (held) => {
    for await (const { path, kind, stat } of walk(held, MOST_LEVELS)) {
      count(kind === 'file' ? Number(stat.size) : 0);
      // The times of a folder say only that entries have come or gone.
      const { mode, ino, size, mtimeNs, ctimeNs } = stat;
      digest.update(
        `${path}\0${(kind === 'folder' ? [mode] : [mode, ino, size, mtimeNs, ctimeNs]).join()}\0`,
      );
      if (kind !== 'folder') state.files.push(path);
      state.changedAt = Math.max(state.changedAt, Number(stat.ctimeMs));
    }
  });
  return { ...state, digest: digest.digest('hex') };
}

async function inRoot(root: string, work: (held: HeldFolder) => Promise<void>): Promise<void> {
  const held = await HeldFolder.open(root).catch((cause) => {
    throw snapshotFailed('the folder of the workspace is gone', cause);
  });
  try {
    await work(held);
  } catch (error) {
    if (!hasCode(error, 'HOLDFAST_FILE_REFUSED')) throw error;
    throw snapshotFailed(`the files of the workspace can't be kept: ${error.message}`, error);
  } finally {
    await held.close();
  }
}

/** The folder as a compressed tar archive. @throws ToolError HOLDFAST_SNAPSHOT_FAILED */
export async function* packed(root: string): AsyncGenerator<Uint8Array, void, void> {
  const { pack } = await import('tar-stream');
  const archive = pack();
  const writing = inRoot(root, async (held) => {
    for await (const { path, kind, stat, folder, name } of walk(held, MOST_LEVELS)) {
      const about = { name: path, mode: Number(stat.mode) & 0o777 };
      if (kind === 'folder') archive.entry({ ...about, type: 'directory' });
      if (kind === 'link')
        archive.entry({ ...about, type: 'symlink', linkname: await readlink(folder.at(name)) });
      if (kind !== 'file') continue;
      const { handle, size } = await folder.file(name, path);
      const bytes = size === 0 ? Readable.from([]) : handle.createReadStream({ end: size - 1 });
      await pipeline(bytes, archive.entry({ ...about, type: 'file', size })).finally(() => handle.close());
    }
    archive.finalize();
  });
  writing.catch((error) => archive.destroy(error));
  const compressed = createGzip({ level: 1 });
  pipeline(archive, compressed).catch((error) => compressed.destroy(error));
  try {
    yield* compressed;
    await writing;
  } finally {
    archive.destroy();
  }
}

/**
 * Unpacks what {@link packed} has made, or anybody else, into a folder that is new and only this process knows. Links come last, so that
 * no path goes through one; those that point out of the folder are left out.
 *
 * @throws ToolError HOLDFAST_SNAPSHOT_FAILED
 */
export async function unpack(archive: Readable, into: string, mostBytes: number): Promise<void> {
  const { extract } = await import('tar-stream');
  const entries = extract();
  const count = counter(mostBytes);
  const links: { names: string[]; target: string }[] = [];
  const unpacked = async () => {
    for await (const entry of entries) {
      const { name, type, size = 0, mode = 0o644, linkname } = entry.header;
      const names = namesIn(name);
      count(size);
      if (names.length > MOST_LEVELS) throw fileRefused(name, 'it is too many levels deep');
      const path = join(into, ...names);
      if (type === 'symlink' && linkname) links.push({ names, target: linkname });
      if (type === 'directory') await mkdir(path, { recursive: true });
      if (type !== 'file') {
        entry.resume();
        continue;
      }
      await mkdir(dirname(path), { recursive: true });
      await pipeline(entry, createWriteStream(path, { flags: 'wx', mode: mode & 0o777 }));
    }
  };
  try {
    const bounded = upTo(mostBytes + MOST_FILES * MOST_ABOUT_FILE);
    await Promise.all([
      pipeline(archive, createGunzip(), bounded, entries),
      unpacked().catch((error) => {
        entries.destroy(error);
        throw error;
      }),
    ]);
    for (const { names, target } of links) {
      if (staysInside(names.length - 1, target)) await symlink(target, join(into, ...names));
    }
  } catch (error) {
    throw snapshotFailed(`the workspace can't be restored: ${thrownMessage(error)}`, error);
  }
}

function upTo(most: number) {
  return async function* (blocks: AsyncIterable<Uint8Array>) {
    let bytes = 0;
    for await (const block of blocks) {
      bytes += block.length;
      if (bytes > most) throw snapshotFailed(`the archive has more than ${most} bytes`);
      yield block;
    }
  };
}

/** Steps up come first, and are no more than there are folders: so no other link on the way can lead out. */
function staysInside(depth: number, target: string): boolean {
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const down = names.findIndex((name) => name !== '..');
  const up = down === -1 ? names.length : down;
  return !target.startsWith('/') && up <= depth && !names.includes('..', up);
}
