import { Connection } from '@temporalio/client';
import { retriesUntilClosed } from './retries-until-closed.ts';

/** The frequent attempts matter while a server starts: gRPC's default waits 1 s after the first refusal. */
const EAGER_RECONNECT = {
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 200,
};

/**
 * Whether a Temporal server at this address answers GetSystemInfo within `timeout` milliseconds. An abort is a
 * no, at once.
 */
export async function answers(address: string, timeout: number, signal?: AbortSignal): Promise<boolean> {
  const connection = Connection.lazy({
    address,
    connectTimeout: timeout,
    channelArgs: EAGER_RECONNECT,
    interceptors: retriesUntilClosed(),
  });
  const { promise: aborted, resolve } = Promise.withResolvers<false>();
  const onAbort = () => resolve(false);
  signal?.addEventListener('abort', onAbort, { once: true });
  const connected = connection.ensureConnected().then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([connected, aborted]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    await connection.close();
  }
}
