/** Milliseconds that a finished worker waits for its resources to close, which may never happen. */
const LONGEST = 5_000;

/** @throws Error where `work` takes longer than these milliseconds. */
export async function withinTime<T>(work: Promise<T>, longest = LONGEST): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no end within ${longest} ms`)), longest);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
