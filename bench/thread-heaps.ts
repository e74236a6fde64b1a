import { Session } from 'node:inspector/promises';

interface ThreadMessage {
  sessionId: string;
  message: string;
}

/**
 * Bytes in use of the heaps of this thread and of its worker threads, after a full collection. Workflows live in threads of the
 * SDK's, which no `gc()` of the main thread reaches: the inspector does, while nothing runs there.
 */
export async function usedHeaps(): Promise<number> {
  const session = new Session();
  const threads = new Set<string>();
  const asked = new Map<number, (result: { usedSize?: number }) => void>();
  session.connect();
  session.on('NodeWorker.attachedToWorker', ({ params }) => void threads.add(params.sessionId));
  session.on('NodeWorker.receivedMessageFromWorker', ({ params }: { params: ThreadMessage }) => {
    const { id = 0, result } = JSON.parse(params.message) as { id?: number; result?: { usedSize?: number } };
    asked.get(id)?.(result ?? {});
  });
  const ask = async (sessionId: string, method: string) => {
    const id = asked.size + 1;
    const { promise, resolve } = Promise.withResolvers<{ usedSize?: number }>();
    asked.set(id, resolve);
    const message = JSON.stringify({ id, method });
    await session.post('NodeWorker.sendMessageToWorker', { sessionId, message });
    return await promise;
  };
  try {
    await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
    await session.post('HeapProfiler.collectGarbage');
    let sum = process.memoryUsage().heapUsed;
    for (const thread of threads) {
      await ask(thread, 'HeapProfiler.collectGarbage');
      sum += (await ask(thread, 'Runtime.getHeapUsage')).usedSize ?? 0;
    }
    return sum;
  } finally {
    await session.post('NodeWorker.disable');
    session.disconnect();
  }
}
