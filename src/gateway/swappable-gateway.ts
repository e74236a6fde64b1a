import type { Gateway } from './create-gateway.ts';

/** A gateway in whose place another one may come while it is served. */
export interface SwappableGateway extends Gateway {
  /** Later requests go to this one; streams of the one before end, and their readers come back. */
  swap(next: Gateway): void;
}

export function swappableGateway(first: Gateway): SwappableGateway {
  let current = first;
  const swapped = new Set<Promise<void>>();
  return {
    get app() {
      return current.app;
    },
    get reach() {
      return current.reach;
    },
    get openStreams() {
      return current.openStreams;
    },
    fetch: (request, env) => current.fetch(request, env),
    request: (path, init) => current.request(path, init),
    endStreams: () => current.endStreams(),
    async flush() {
      await Promise.all([...swapped, current.flush()]);
    },
    swap(next) {
      const before = current;
      current = next;
      before.endStreams();
      const flushed = before.flush().finally(() => swapped.delete(flushed));
      swapped.add(flushed);
    },
  };
}
