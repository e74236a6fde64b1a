/** Runs work, and tells the longest time for which the event loop stood still meanwhile, in milliseconds. */
export async function longestPause(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
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
