/** Milliseconds that a finished worker waits for its resources to close, which may never happen. */
const LONGEST = 5_000;

/** @throws Error where `work` takes longer than these milliseconds. */
export async function withinTime(work: Promise<void>, longest = LONGEST): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no end within ${longest} ms`)), longest);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
