/**
 * Runs work, and tells the longest time for which the event loop stood still meanwhile, in milliseconds of the thread's processor: how
 * long a machine takes that is busy says nothing.
 */
export async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = process.threadCpuUsage();
  const tick = () => {
    const { user, system } = process.threadCpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.threadCpuUsage();
  };
  const beat = setInterval(tick, 1);
  try {
    await work();
  } finally {
    clearInterval(beat);
    tick();
  }
  return longest;
}
