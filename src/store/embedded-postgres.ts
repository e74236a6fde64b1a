import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PgliteThreadData, PgliteThreadMessage } from './pglite-thread.ts';
import { makePrivateSocket } from './private-socket.ts';
import { StoreInUse, StoreUnavailable } from './store-errors.ts';

/** Milliseconds that a clean shutdown may take. What was acknowledged survives an unclean one. */
const LONGEST_CLOSE = 10_000;

/** PGlite in a worker thread, behind a socket that only this user can open. */
export interface EmbeddedPostgres {
  /** A connection to be, for pg's `stream`. */
  connection: () => Socket;
  /** Why the thread ended, once it has. */
  gone: () => Error | undefined;
  close(): Promise<void>;
}

/**
 * Opens the data in `<folder>/store`, made where it is missing.
 *
 * @throws StoreInUse, StoreUnavailable
 */
export async function startEmbeddedPostgres(
  folder: string,
  onProgress: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const path = resolve(folder);
  const socket = makePrivateSocket();
  const thread = new Worker(threadFile(), {
    workerData: { folder: path, socket: socket.path } satisfies PgliteThreadData,
    // node:sqlite and type stripping are experimental in Node 22, and say so on stderr.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    name: 'holdfast store',
  });
  let gone: Error | undefined;
  const exited = new Promise<void>((done) => {
    thread.once('exit', (code) => {
      gone ??= new Error(`its thread ended with code ${code}`);
      socket.remove();
      done();
    });
  });
  thread.once('error', (error) => {
    gone = error instanceof Error ? error : new Error(String(error));
  });
  try {
    await served(thread, exited, onProgress, path);
  } catch (error) {
    await thread.terminate();
    if (error instanceof StoreInUse) throw error;
    throw new StoreUnavailable(`the embedded store in ${path} can't be opened: ${messageOf(gone ?? error)}`, {
      cause: gone ?? error,
    });
  }
  return {
    connection: () => socket.connection(),
    gone: () => gone,
    close: async () => {
      if (gone === undefined) thread.postMessage('close');
      const stuck = setTimeout(() => void thread.terminate(), LONGEST_CLOSE);
      await exited;
      clearTimeout(stuck);
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function threadFile(): URL {
  return new URL(
    import.meta.url.endsWith('.ts') ? './pglite-thread.ts' : './pglite-thread.js',
    import.meta.url,
  );
}

function served(
  thread: Worker,
  exited: Promise<void>,
  onProgress: (line: string) => void,
  folder: string,
): Promise<void> {
  return new Promise((done, fail) => {
    thread.on('message', ({ type }: PgliteThreadMessage) => {
      if (type === 'initialising') onProgress('initialising the store: a few seconds, the first time only');
      if (type === 'ready') done();
      if (type === 'in use') {
        fail(
          new StoreInUse(
            `the embedded store in ${folder} is in use by another process: stop that one, use another folder, or ` +
              'a postgres:// URL, which any number of processes can share',
          ),
        );
      }
    });
    void exited.then(() => fail(new Error('its thread ended')));
  });
}
