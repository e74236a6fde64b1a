/** What ends the wait for user code: a signal, and what is thrown when it fires. */
export type Ending = readonly [signal: AbortSignal, failure: () => Error];

/** Waits for user code that may not heed its signal: it must not hold the attempt, nor the worker. */
export async function whicheverComesFirst<T>(work: Promise<T>, endings: readonly Ending[]): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const listeners = endings.map(([signal, failure]) => ({ signal, fires: () => reject(failure()) }));
  for (const { signal, fires } of listeners) {
    if (signal.aborted) fires();
    else signal.addEventListener('abort', fires);
  }
  try {
    return await Promise.race([work, ended]);
  } finally {
    for (const { signal, fires } of listeners) signal.removeEventListener('abort', fires);
  }
}
