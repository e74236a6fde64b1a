import { basename } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Milliseconds. */
const MOST_TIME = 60_000;

/**
 * Starts a thread of the module, gives its only message, and ends it.
 *
 * @param limits `heap`: mebibytes; `signal` ends the thread.
 * @throws Error for a thread that fails, has no room, or is not ready after 60 seconds.
 */
export async function answerOfThread<Answer>(
  file: string,
  workerData: object,
  { heap, signal }: { heap: number; signal?: AbortSignal },
): Promise<Answer> {
  const over = AbortSignal.any([AbortSignal.timeout(MOST_TIME), ...(signal === undefined ? [] : [signal])]);
  over.throwIfAborted();
  const thread = new Worker(file, {
    workerData,
    // Type stripping is experimental in Node 22, and says so on stderr.
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: heap },
    name: `holdfast ${basename(file)}`,
  });
  thread.unref();
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  over.addEventListener('abort', () => reject(over.reason));
  thread.once('message', resolve);
  thread.on('error', reject);
  thread.once('exit', () => reject(new Error('its thread ended without an answer')));
  try {
    return await promise;
  } finally {
    await thread.terminate();
  }
}
