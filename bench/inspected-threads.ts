import { Session } from 'node:inspector/promises';

/** A thread of this process, as its inspector reaches it. */
export interface InspectedThread {
  /** The program of a worker thread; empty for the main thread. */
  url: string;
  /** Calls a method of the inspector's protocol. */
  ask<Result>(method: string, params?: object): Promise<Result>;
}

interface Answer {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

/**
 * The main thread, which must be the caller, and then its worker threads. Workflows live in threads of the SDK's, which nothing but
 * the inspector reaches.
 */
export async function inspectThreads<Result>(
  work: (threads: readonly [InspectedThread, ...InspectedThread[]]) => Promise<Result>,
): Promise<Result> {
  const session = new Session();
  // The declared result of `post` is that of the few methods that have a signature of their own.
  const ask = async (method: string, params?: object) => (await session.post(method, params)) as never;
  const threads: [InspectedThread, ...InspectedThread[]] = [{ url: '', ask }];
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  session.connect();
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId, workerInfo } }) => {
    threads.push({
      url: workerInfo.url,
      ask: async (method, params = {}) => {
        const id = asked.size + 1;
        const answer = Promise.withResolvers<unknown>();
        asked.set(id, answer);
        const message = JSON.stringify({ id, method, params });
        await session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
        return (await answer.promise) as never;
      },
    });
  });
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }) => {
    const { id = 0, result, error } = JSON.parse(params.message) as Answer;
    if (error) asked.get(id)?.reject(new Error(error.message));
    else asked.get(id)?.resolve(result);
  });
  try {
    await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    return await work(threads);
  } finally {
    await session.post('NodeWorker.disable');
    session.disconnect();
  }
}
