import { inspectThreads } from './inspected-threads.ts';

/** Bytes in use of the heaps of this thread and of its worker threads, after a full collection, while nothing runs there. */
export async function usedHeaps(): Promise<number> {
  return await inspectThreads(async (threads) => {
    let sum = 0;
    for (const { ask } of threads) {
      await ask('HeapProfiler.collectGarbage');
      sum += (await ask<{ usedSize: number }>('Runtime.getHeapUsage')).usedSize;
    }
    return sum;
  });
}
