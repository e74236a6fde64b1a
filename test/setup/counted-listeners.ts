import type { Store } from '../../src/store/store.ts';

/** A store, and how many listen to it. */
export function listenersOf(store: Store): { store: Store; count(): number } {
  let count = 0;
  const counted =
    <Given extends unknown[]>(listen: (...given: Given) => () => void) =>
    (...given: Given) => {
      const stop = listen(...given);
      let stopped = false;
      count += 1;
      return () => {
        if (!stopped) count -= 1;
        stopped = true;
        stop();
      };
    };
  const proxy = new Proxy(store, {
    get(target, key) {
      if (key === 'onNotice') return counted(target.live.onNotice.bind(target));
      if (key === 'watch') return counted(target.live.watch.bind(target));
      if (key === 'watchTurns') return counted(target.live.watchTurns.bind(target));
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { store: proxy, count: () => count };
}
