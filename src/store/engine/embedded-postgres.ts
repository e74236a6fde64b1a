import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { moduleFile } from '../../own-files.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { StoreInUse, StoreUnavailable } from '../store-errors.ts';
import type { PgliteThreadData, PgliteThreadMessage, PgliteThreadOrder } from './pglite-thread.ts';
import { makePrivateSocket, PathSocket } from './private-socket.ts';

/** Milliseconds that a clean shutdown may take. Acknowledged writes survive an unclean one. */
const LONGEST_CLOSE = 10_000;

/**
 * V8 compiles what WebAssembly calls often anew, and frees the old code of all threads of the process together: in Node 24 that
 * ends the process now and then where several stores come and go (nodejs/node#64500; here in `Runtime_TierUpWasmToJSWrapper`).
 * The generic code isn't slower for PGlite.
 */
const NO_WRAPPER_TIER_UP = '--wasm-wrapper-tiering-budget=1000000000';

/** Milliseconds between tries to start a thread that broke down. */
const SHORTEST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

/** PGlite in a worker thread, with a socket that only this user can open. */
export interface EmbeddedPostgres {
  /** The socket's path, the same for as long as this process has the folder. */
  socket: string;
  /** A connection to be, for pg's `stream`. It starts the thread again where it has ended. */
  connection: () => Socket;
  /** Why the thread ended, while there is none. */
  gone: () => Error | undefined;
  close(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  onProgress: (line: string) => void;
  /** Data that a folder without any starts with. Where there is none, they are made. */
  template?: string;
  /** Where the data are moved to when it is closed. */
  publishTo?: string;
}

/**
 * Opens the data in `<folder>/store`, made where it is missing. A thread that breaks down, for want of space or of
 * stack, is started again, at the latest by the next connection, and finds what it had acknowledged.
 *
 * @throws StoreInUse, StoreUnavailable
 */
export async function startEmbeddedPostgres(
  folder: string,
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const { onProgress, ...data } = options;
  const socket = makePrivateSocket();
  const threadData = { folder: resolve(folder), socket: socket.path, ...data };
  let starting: Promise<PgliteThread> | undefined;
  let thread: PgliteThread;
  let closed = false;

  function start(): Promise<PgliteThread> {
    starting ??= startThread(threadData, onProgress)
      .then((started) => {
        thread = started;
        void started.ended.then(revive);
        return started;
      })
      .finally(() => {
        starting = undefined;
      });
    return starting;
  }

  /** Processes that have joined can't start it. */
  async function revive(): Promise<void> {
    for (let pause = SHORTEST_PAUSE; !closed && thread.gone() !== undefined; pause = longer(pause)) {
      await setTimeout(pause, undefined, { ref: false });
      if (closed || thread.gone() === undefined) return;
      await start().catch(() => undefined);
    }
  }

  async function running(): Promise<string> {
    // Its failure may be over by now.
    await starting?.catch(() => undefined);
    if (!(await thread.alive())) {
      if (closed) throw new Error('it was closed');
      await start();
    }
    return socket.path;
  }

  try {
    thread = await start();
  } catch (error) {
    socket.remove();
    throw error;
  }
  return {
    socket: socket.path,
    connection: () => new PathSocket(running),
    gone: () => thread.gone(),
    close: async () => {
      closed = true;
      await starting?.catch(() => undefined);
      await thread.close();
      socket.remove();
    },
  };
}

function longer(pause: number): number {
  return Math.min(pause * 2, LONGEST_PAUSE);
}

interface PgliteThread {
  gone: () => Error | undefined;
  ended: Promise<void>;
  /** False once it has ended, and holds the folder no more. */
  alive(): Promise<boolean>;
  close(): Promise<void>;
}

async function startThread(
  workerData: PgliteThreadData,
  onProgress: (line: string) => void,
): Promise<PgliteThread> {
  const { folder } = workerData;
  setFlagsFromString(NO_WRAPPER_TIER_UP);
  const thread = new Worker(moduleFile('src/store/engine/pglite-thread'), {
    workerData,
    // node:sqlite and type stripping are experimental in Node 22, and say so on stderr.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    name: 'holdfast store',
  });
  let gone: Error | undefined;
  const ended = new Promise<void>((done) => {
    thread.once('exit', (code) => {
      gone ??= new Error(`its thread ended with code ${code}`);
      done();
    });
  });
  thread.on('error', (error) => {
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
    gone: () => gone,
    ended,
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
      const done = new AbortController();
      const stuck = setTimeout(LONGEST_CLOSE, undefined, { signal: done.signal });
      stuck.then(
        () => thread.terminate(),
        () => undefined,
      );
      await ended;
      done.abort();
    },
  };
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
