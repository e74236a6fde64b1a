import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type ListDocuments,
  type ListedDocuments,
  LONGEST_PATH,
  LONGEST_TITLE,
  type Passage,
  type PutDocument,
  type RemoveCorpus,
} from '../../contract/corpora.ts';
import { MOST_LISTED } from '../../contract/lists.ts';
import { type Embeddings, embeddedDocuments } from '../../memory/embeddings.ts';
import { passagesIn } from '../../memory/passages.ts';
import { defined } from '../../protocol/json.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import { InvalidTurn } from '../client-errors.ts';
import { DocumentReader } from './document-text.ts';
import type { DocumentText } from './document-thread.ts';

export interface LoadCorpus {
  app: string;
  /** 1 to 48 letters of ASCII, digits, `_` or `-`. */
  corpus: string;
  /** Read with the folders in it. Links, and names that begin with a dot, are left out. */
  folder: string;
  /** The app's `durable.memory.embeddings`, so that passages are found by their meaning, too. */
  embeddings?: Embeddings;
  /** Told what becomes of each document. */
  onDocument?: (document: LoadedDocument) => void;
  /** Ends it between two requests. Documents that were loaded by then stay. */
  signal?: AbortSignal;
}

export interface LoadedDocument {
  /** In the folder, with slashes. */
  path: string;
  became: 'loaded' | 'unchanged' | 'removed' | 'skipped';
  /** Why it was skipped. */
  problem?: string;
}

interface Target {
  documents(list: ListDocuments): Promise<ListedDocuments>;
  put(part: PutDocument): Promise<boolean>;
  remove(which: RemoveCorpus): Promise<number>;
}

/** How many documents became what. */
export type LoadedCorpus = Record<LoadedDocument['became'], number>;

/** Bytes of a file. */
const LARGEST_FILE = 20 * 1024 * 1024;
/** Characters of a passage: few enough to be cited, enough to be understood. */
const PASSAGE = 1_500;
/** Passages of a request, of which a gateway takes 4 MiB. */
const AT_ONCE = { plain: 250, embedded: 20 };
/** Part of a digest: documents are read anew after a change of how they are read. */
const FORM = 'passages of 1500, 1';
const MOST_TRIES = 3;

/** Loads documents, as `corpora.load` does. */
export async function loadFolder(
  corpora: Target,
  { app, corpus, folder, embeddings, onDocument, signal = new AbortController().signal }: LoadCorpus,
): Promise<LoadedCorpus> {
  const names = { app, corpus };
  const counts: LoadedCorpus = { loaded: 0, unchanged: 0, removed: 0, skipped: 0 };
  const tell = (document: LoadedDocument) => {
    counts[document.became] += 1;
    onDocument?.(document);
  };
  const known = new Map<string, string | undefined>();
  for (let after: string | undefined; ; ) {
    const page = await corpora.documents({ ...names, limit: MOST_LISTED, ...defined({ after }) });
    for (const { path, digest } of page.documents) known.set(path, digest);
    after = page.next;
    if (after === undefined) break;
  }
  const reader = new DocumentReader();
  try {
    for await (const { path, problem } of filesIn(folder)) {
      signal.throwIfAborted();
      const became = problem === undefined ? await load(path) : { became: 'skipped' as const, problem };
      if (became === undefined) continue;
      // A folder that can't be read has its documents still.
      for (const each of problem === undefined ? [path] : [...known.keys()]) {
        if (each === path || each.startsWith(`${path}/`)) known.delete(each);
      }
      tell({ path, ...became });
    }
  } finally {
    await reader.close();
  }
  for (const path of known.keys()) {
    signal.throwIfAborted();
    await corpora.remove({ ...names, path });
    tell({ path, became: 'removed' });
  }
  return counts;

  /** Undefined where the file has gone meanwhile. */
  async function load(path: string): Promise<Omit<LoadedDocument, 'path'> | undefined> {
    let document: Pick<PutDocument, 'path' | 'digest' | 'title'>;
    let passages: Passage[];
    try {
      const bytes = await bytesOf(join(folder, path));
      const form = hash('sha256', `${FORM}/${embeddings?.model ?? ''}`, 'hex').slice(0, 20);
      const digest = `${form}-${hash('sha256', bytes, 'base64url')}`;
      if (known.get(path) === digest) return { became: 'unchanged' };
      const text = await reader.read(path, bytes);
      const title = storable(text.title?.slice(0, LONGEST_TITLE) ?? '').trim() || undefined;
      document = { path, digest, ...defined({ title }) };
      passages = passagesOf(text);
    } catch (error) {
      if (isGone(error)) return undefined;
      return { became: 'skipped', problem: thrownMessage(error) };
    }
    for (let tries = 1; !(await put(document, passages)); tries += 1) {
      if (tries === MOST_TRIES)
        return { became: 'skipped', problem: 'somebody removes it while it is loaded: load it again' };
    }
    return { became: 'loaded' };
  }

  async function put(document: Pick<PutDocument, 'path' | 'digest' | 'title'>, passages: Passage[]) {
    for (let first = 0; ; ) {
      signal.throwIfAborted();
      const end = first + (embeddings === undefined ? AT_ONCE.plain : AT_ONCE.embedded);
      const part = passages.slice(first, end);
      const texts = part.map(({ text }) => text);
      const vectors = await embeddedDocuments(embeddings, texts, signal);
      const isWhole = await corpora.put({
        ...{ ...names, ...document, first },
        passages: part.map((passage, index) => ({ ...passage, ...defined({ embedding: vectors[index] }) })),
        ...defined({ total: end >= passages.length ? passages.length : undefined }),
      });
      if (end >= passages.length) return isWhole;
      first = end;
    }
  }
}

/** No database keeps NUL, nor a lone surrogate. */
function storable(text: string): string {
  return text.replaceAll('\0', ' ').toWellFormed();
}

function passagesOf({ pages, place }: DocumentText): Passage[] {
  return pages.flatMap((page, index) => {
    const text = storable(page);
    let line = 1;
    let counted = 0;
    return [...passagesIn(text, PASSAGE)].map((passage) => {
      for (; counted < passage.start; counted += 1) if (text.charCodeAt(counted) === 10) line += 1;
      return { text: passage.text, ...(place && { [place]: place === 'page' ? index + 1 : line }) };
    });
  });
}

/** Files of a folder and the folders in it, by name; folders and others that can't be read with the problem. */
async function* filesIn(folder: string, below = ''): AsyncGenerator<{ path: string; problem?: string }> {
  const entries = await readdir(join(folder, below), { withFileTypes: true }).catch((error: unknown) => {
    if (below === '') throw new InvalidTurn(`corpora.load: folder: ${thrownMessage(error)}`);
    return isGone(error) ? [] : thrownMessage(error);
  });
  if (typeof entries === 'string') return yield { path: below, problem: entries };
  entries.sort((one, other) => (one.name < other.name ? -1 : 1));
  for (const entry of entries) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.name.startsWith('.') || entry.isSymbolicLink()) continue;
    if (entry.isDirectory()) yield* filesIn(folder, path);
    else if (!entry.isFile()) yield { path, problem: 'it is no file' };
    else if (path.length > LONGEST_PATH)
      yield { path, problem: `its path has more than ${LONGEST_PATH} characters` };
    else yield { path };
  }
}

/** The bytes of one version of a file. @throws Error that says why there are none. */
async function bytesOf(path: string): Promise<Uint8Array<ArrayBuffer>> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    // Another process may have put a pipe or a link in its place.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const before = await file.stat({ bigint: true });
      if (!before.isFile()) throw new Error('it is no file');
      if (before.size > LARGEST_FILE) throw new Error(`it has more than ${LARGEST_FILE} bytes`);
      const bytes = await wholeOf(file, Number(before.size));
      const after = await file.stat({ bigint: true });
      if (BigInt(bytes.length) === after.size && before.mtimeNs === after.mtimeNs) return bytes;
    } finally {
      await file.close();
    }
  }
  throw new Error('it changes while it is read: load it again');
}

async function wholeOf(file: FileHandle, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(size);
  let filled = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, filled, size - filled, filled);
    filled += bytesRead;
    if (bytesRead === 0) return bytes.subarray(0, filled);
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
