import { setTimeout } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { retriesUntilClosed } from './retries-until-closed.ts';

/** The frequent attempts matter while a server starts: gRPC's default waits 1 s after the first refusal. */
const EAGER_RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 200,
};

/** Namespace of embedded servers. */
const NAMESPACE = 'default';

/** Milliseconds between two looks, and that one may take. */
const PAUSE = 50;
const LONGEST_LOOK = 2_000;

/**
 * Whether a Temporal server at this address reads its namespace within `timeout` milliseconds: one whose database has broken goes on
 * saying that it is well. An abort is a no, at once.
 */
export async function answers(address: string, timeout: number, signal?: AbortSignal): Promise<boolean> {
  const connection = Connection.lazy({
    address,
    connectTimeout: timeout,
    channelArgs: EAGER_RECONNECT,
    interceptors: retriesUntilClosed(),
  });
  const over = new AbortController();
  const { promise: aborted, resolve } = Promise.withResolvers<false>();
  const end = () => {
    over.abort();
    resolve(false);
  };
  signal?.addEventListener('abort', end, { once: true });
  const timer = globalThis.setTimeout(end, timeout);
  try {
    return await Promise.race([readsNamespace(connection, over.signal), aborted]);
  } finally {
    over.abort();
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
    await connection.close();
  }
}

/** A server that has just started may have none yet. */
async function readsNamespace(connection: Connection, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    try {
      await connection.ensureConnected();
      await connection.withDeadline(Date.now() + LONGEST_LOOK, () =>
        connection.workflowService.describeNamespace({ namespace: NAMESPACE }),
      );
      return true;
    } catch {
      // Asked again until the time is over.
      await setTimeout(PAUSE, undefined, { signal }).catch(() => undefined);
    }
  }
  return false;
}
