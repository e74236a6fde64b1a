import {
  constants,
  cpSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { messageOf } from '../../protocol/message-of.ts';
import { makeFolder } from './make-folder.ts';
import { servePglite } from './pglite-server.ts';
import { SOCKET_FOLDER_PREFIX } from './private-socket.ts';

/** Start arguments of the thread. */
export interface PgliteThreadData {
  folder: string;
  /** Unix socket or named pipe. */
  socket: string;
  /** Data that a folder without any starts with. Where there is none, they are made. */
  template?: string;
  /** Where the data are moved to when the thread is closed. */
  publishTo?: string;
}

/** A message to the thread. It answers a `ping` with `alive`, unless it is about to end. */
export type PgliteThreadOrder = 'ping' | 'close';

/** A message of the thread: it serves, or why it doesn't. */
export type PgliteThreadMessage =
  | { type: 'initialising' }
  | { type: 'ready' }
  | { type: 'alive' }
  | { type: 'in use' }
  | { type: 'closed' };

const SQLITE_BUSY = 5;
/** Bytes: a segment of its log, which PGlite may have to write when it opens its data. */
const NEEDED_TO_OPEN = 16 * 1024 * 1024;

const { folder, socket, template, publishTo } = workerData as PgliteThreadData;
const port = parentPort ?? crash(new Error('pglite-thread runs as a worker thread only'));

await serve();

async function serve(): Promise<void> {
  makeFolder(folder, 0o700);
  const release = hold(join(folder, 'store.lock'));
  const isPublished = publishTo !== undefined && existsSync(publishTo);
  if (release === undefined || isPublished) {
    // Another process is making it, or has while this thread started.
    release?.();
    tell({ type: 'in use' });
    port.close();
    return;
  }
  removeSocketOfTheDead();
  const database = await openDatabase();
  const server = await servePglite(database, socket, crash);
  port.on('message', async (order: PgliteThreadOrder) => {
    if (order === 'ping') {
      server.idle().then(
        () => tell({ type: 'alive' }),
        () => undefined,
      );
      return;
    }
    await server.stop();
    await database.close();
    if (publishTo !== undefined) renameSync(join(folder, 'store'), publishTo);
    release();
    tell({ type: 'closed' });
    port.close();
  });
  tell({ type: 'ready' });
}

/** PGlite doesn't notice a second process in its data. The operating system frees this lock on death. */
function hold(file: string): (() => void) | undefined {
  const lock = new DatabaseSync(file);
  try {
    lock.exec('begin exclusive');
    return () => lock.close();
  } catch (error) {
    lock.close();
    if ((error as { errcode?: unknown }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}

/** A process that was killed leaves its socket's folder; this one's lock says that it is dead. */
function removeSocketOfTheDead(): void {
  const note = join(folder, 'store.socket');
  const left = existsSync(note) ? readFileSync(note, 'utf8') : undefined;
  if (left === socket) {
    // An earlier thread of this process broke down. Named pipes go by themselves.
    if (process.platform !== 'win32') rmSync(socket, { force: true });
    return;
  }
  if (left !== undefined) {
    const place = dirname(left);
    // Only what this program makes: the note could come from elsewhere, with the folder.
    if (dirname(place) === tmpdir() && basename(place).startsWith(SOCKET_FOLDER_PREFIX)) {
      rmSync(place, { recursive: true, force: true });
    }
  }
  writeFileSync(note, socket);
}

/** A first initialisation takes seconds: it counts once its folder has its name. So does a copy. */
async function openDatabase(): Promise<PGlite> {
  const data = join(folder, 'store');
  if (existsSync(data)) return await create(data);
  const draft = join(folder, 'store.new');
  rmSync(draft, { recursive: true, force: true });
  const isCopied = template !== undefined && existsSync(template);
  if (isCopied) {
    cpSync(template, draft, { recursive: true, mode: constants.COPYFILE_FICLONE });
  } else {
    tell({ type: 'initialising' });
    const created = await create(draft);
    await created.close();
  }
  renameSync(draft, data);
  return isCopied ? await createFrom(template, data) : await create(data);
}

/** A template may have been damaged since it was made: its copy isn't left as the folder's store. */
async function createFrom(template: string, copy: string): Promise<PGlite> {
  try {
    return await create(copy);
  } catch (error) {
    rmSync(copy, { recursive: true, force: true });
    const reason = messageOf(error);
    throw new Error(`${reason}; it was a copy of ${template}: delete that where it is damaged`, {
      cause: error,
    });
  }
}

/** PGlite's error doesn't say why. */
async function create(data: string): Promise<PGlite> {
  try {
    return await PGlite.create(data, { extensions: { vector } });
  } catch (error) {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize >= NEEDED_TO_OPEN) throw error;
    throw new Error('the disk is full', { cause: error });
  }
}

function tell(message: PgliteThreadMessage): void {
  port.postMessage(message);
}

function crash(error: unknown): never {
  // Thrown outside of any promise it ends the thread, which tells it to the process.
  setImmediate(() => {
    throw error;
  });
  throw error;
}
