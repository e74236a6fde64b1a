import { constants, type Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { CodeFile } from './base-code-executor.ts';

/** The limits of tool results as a whole. */
const MOST_BYTES = 10 * 1024 * 1024;
const MOST_FILES = 100;
/** Files and folders that are looked at. */
const MOST_NAMES = 10_000;

const TEXT_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.html': 'text/html',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.xml': 'application/xml',
};

const BINARY_TYPES: Readonly<Record<string, string>> = {
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.wav': 'audio/wav',
  '.webp': 'image/webp',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.zip': 'application/zip',
};

/**
 * The files that a program has left in its directory. Links are left out, and not followed: they may lead anywhere.
 *
 * @param given names of those that were there before.
 */
export async function writtenFiles(
  directory: string,
  given: ReadonlySet<string>,
): Promise<{ files: CodeFile[]; leftOut: string[] }> {
  const files: CodeFile[] = [];
  const leftOut: string[] = [];
  let bytes = 0;
  for (const name of (await namesBelow(directory)).toSorted()) {
    if (given.has(name)) continue;
    const data =
      files.length < MOST_FILES ? await contentOf(join(directory, name), MOST_BYTES - bytes) : undefined;
    if (data === undefined) {
      leftOut.push(name);
      continue;
    }
    bytes += data.length;
    files.push(fileOf(name, data));
  }
  return { files, leftOut };
}

/** Names of files; no more than {@link MOST_NAMES}. */
async function namesBelow(directory: string): Promise<string[]> {
  const names: string[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await entriesOf(join(directory, folder))) {
      const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(name);
      else if (entry.isFile()) names.push(name);
      if (names.length + folders.length > MOST_NAMES) return names;
    }
  }
  return names;
}

/** Empty for a directory that can't be read, or that the program has removed. */
async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    if (isOutOfReach(error)) return [];
    throw error;
  }
}

/** Undefined for a file of more than `limit` bytes, and for one that can't be read: its name may be no text. */
async function contentOf(path: string, limit: number): Promise<Buffer | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      return stats.isFile() && stats.size <= limit ? await file.readFile() : undefined;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isOutOfReach(error)) return undefined;
    throw error;
  }
}

const OUT_OF_REACH = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG']);

function isOutOfReach(error: unknown): boolean {
  return error instanceof Error && 'code' in error && OUT_OF_REACH.has(String(error.code));
}

function fileOf(name: string, data: Buffer): CodeFile {
  const extension = extname(name).toLowerCase();
  const mimeType = TEXT_TYPES[extension];
  if (mimeType !== undefined) {
    return { name, content: data.toString('utf8'), contentEncoding: 'utf-8', mimeType };
  }
  return {
    name,
    content: data.toString('base64'),
    contentEncoding: 'base64',
    mimeType: BINARY_TYPES[extension] ?? 'application/octet-stream',
  };
}
