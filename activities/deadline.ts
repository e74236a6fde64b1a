/** The longest time of a timer, milliseconds: Node fires a longer one at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

export interface Deadline {
  signal: AbortSignal;
  /** To be called once nobody waits for it: until it fires, a timer keeps the whole activity that has set it in memory. */
  clear(): void;
}

/**
 * Fires when this time is over; never where it is longer than a timer can wait, some 24 days. Temporal ends such an attempt.
 *
 * @param time milliseconds.
 */
export function afterTime(time: number): Deadline {
  const late = new AbortController();
  if (time > LONGEST_TIMER) return { signal: late.signal, clear: () => undefined };
  const fire = () => late.abort(new DOMException(`over after ${time} ms`, 'TimeoutError'));
  const timer = setTimeout(fire, time).unref();
  return { signal: late.signal, clear: () => clearTimeout(timer) };
}

/** An end of the wait for user code: a signal, and the error that is thrown when it fires. */
export type Ending = readonly [signal: AbortSignal, failure: () => Error];

/** Waits for user code that may ignore its signal: it must not hold the attempt or the worker. */
export async function raceEndings<T>(work: Promise<T>, endings: readonly Ending[]): Promise<T> {
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

/** The signals that end an attempt, and the errors that it then throws. */
interface Ends {
  signal: AbortSignal;
  aborted(): Error;
}

/**
 * Has user code do some work for as long as that may take, and as long as the attempt lives.
 *
 * @param work gets the signal that fires when its time is over.
 * @param limits `time` in milliseconds; `late` makes the error of work that takes longer.
 * @throws the error that ends the attempt, once that is aborted; otherwise the error of the work.
 */
export async function inTime<T>(
  work: (late: AbortSignal) => Promise<T>,
  { time, late, current }: { time: number; late: () => Error; current?: Ends | undefined },
): Promise<T> {
  const deadline = afterTime(time);
  const endings: Ending[] = [[deadline.signal, late]];
  if (current !== undefined) endings.unshift([current.signal, current.aborted]);
  try {
    return await raceEndings(work(deadline.signal), endings);
  } catch (error) {
    if (current?.signal.aborted) throw current.aborted();
    throw error;
  } finally {
    deadline.clear();
  }
}
