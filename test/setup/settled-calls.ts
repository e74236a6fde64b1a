import type { Store } from '../../src/store/store.ts';

/** Resolves when so many calls of a tool have been settled from now on. One that has only run may run again. */
export function settledCalls(store: Store, tool: string, count: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let settled = 0;
  const stop = store.live.onNotice((notice) => {
    if (notice.type !== 'call finished' || notice.tool !== tool || ++settled < count) return;
    stop();
    resolve();
  });
  return promise;
}
