import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { PgliteThreadData, PgliteThreadMessage, PgliteThreadOrder } from './pglite-thread.ts';
import { makePrivateSocket, PathSocket } from './private-socket.ts';
import { StoreInUse, StoreUnavailable } from './store-errors.ts';

/** Milliseconds that a clean shutdown may take. What was acknowledged survives an unclean one. */
const LONGEST_CLOSE = 10_000;

/** PGlite in a worker thread, behind a socket that only this user can open. */
export interface EmbeddedPostgres {
  /** A connection to be, for pg's `stream`. It starts the thread again where it has ended. */
  connection: () => Socket;
  /** Why the thread ended, while there is none. */
  gone: () => Error | undefined;
  close(): Promise<void>;
}

/**
 * Opens the data in `<folder>/store`, made where it is missing. A thread that breaks down, for want of space or of
 * stack, is started again by the next connection, and finds what it had acknowledged.
 *
 * @throws StoreInUse, StoreUnavailable
 */
export async function startEmbeddedPostgres(
  folder: string,
  onProgress: (line: string) => void,
): Promise<EmbeddedPostgres> {
  const path = resolve(folder);
  let thread = await startThread(path, onProgress);
  let starting: Promise<void> | undefined;
  let closed = false;

  async function running(): Promise<string> {
    if (starting === undefined && (await thread.alive())) return thread.socket;
    if (closed) throw new Error('it was closed');
    starting ??= startThread(path, onProgress)
      .then((started) => {
        thread = started;
      })
      .finally(() => {
        starting = undefined;
      });
    await starting;
    return thread.socket;
  }

  return {
    connection: () => new PathSocket(running),
    gone: () => thread.gone(),
    close: async () => {
      closed = true;
      await starting?.catch(() => undefined);
      await thread.close();
    },
  };
}

interface PgliteThread {
  socket: string;
  gone: () => Error | undefined;
  /** False once it has ended, and holds the folder no more. */
  alive(): Promise<boolean>;
  close(): Promise<void>;
}

async function startThread(folder: string, onProgress: (line: string) => void): Promise<PgliteThread> {
  const socket = makePrivateSocket();
  const thread = new Worker(threadFile(), {
    workerData: { folder, socket: socket.path } satisfies PgliteThreadData,
    // node:sqlite and type stripping are experimental in Node 22, and say so on stderr.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    name: 'holdfast store',
  });
  let gone: Error | undefined;
  const ended = new Promise<void>((done) => {
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
    await served(thread, ended, onProgress, folder);
  } catch (error) {
    await thread.terminate();
    if (error instanceof StoreInUse) throw error;
    throw new StoreUnavailable(
      `the embedded store in ${folder} can't be opened: ${messageOf(gone ?? error)}`,
      { cause: gone ?? error },
    );
  }
  return {
    socket: socket.path,
    gone: () => gone,
    alive: () =>
      new Promise((answer) => {
        const onMessage = ({ type }: PgliteThreadMessage) => {
          if (type !== 'alive') return;
          thread.off('message', onMessage);
          answer(true);
        };
        thread.on('message', onMessage);
        void ended.then(() => answer(false));
        thread.postMessage('ping' satisfies PgliteThreadOrder);
      }),
    close: async () => {
      if (gone === undefined) thread.postMessage('close' satisfies PgliteThreadOrder);
      const stuck = setTimeout(() => void thread.terminate(), LONGEST_CLOSE);
      await ended;
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
