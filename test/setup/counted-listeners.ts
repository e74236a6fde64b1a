import type { Store } from '../../src/store/store.ts';
import { type StoreOperation, wrappedStore } from './wrapped-store.ts';

const LISTENING: readonly StoreOperation[] = ['live.onNotice', 'live.watch', 'live.watchTurns'];

/** A store, and how many listen to it. */
export function listenersOf(store: Store): { store: Store; count(): number } {
  let count = 0;
  const counted =
    (listen: (...given: never[]) => unknown) =>
    (...given: never[]) => {
      const stop = listen(...given) as () => void;
      let stopped = false;
      count += 1;
      return () => {
        if (!stopped) count -= 1;
        stopped = true;
        stop();
      };
    };
  const watched = wrappedStore(store, (operation, listen) =>
    LISTENING.includes(operation) ? counted(listen) : undefined,
  );
  return { store: watched, count: () => count };
}
