/** What ends the wait for user code: a signal, and what is thrown when it fires. */
export type Ending = readonly [signal: AbortSignal, failure: () => Error];

/** Waits for user code that may not heed its signal: it must not hold the attempt, nor the worker. */
export async function whicheverComesFirst<T>(work: Promise<T>, endings: readonly Ending[]): Promise<T> {
  const done = new AbortController();
  const ended = endings.map(
    ([signal, failure]) =>
      new Promise<never>((_resolve, reject) => {
        if (signal.aborted) reject(failure());
        signal.addEventListener('abort', () => reject(failure()), { signal: done.signal });
      }),
  );
  try {
    return await Promise.race([work, ...ended]);
  } finally {
    done.abort();
  }
}
