/**
 * Of this process, which other processes take nothing of: how long a machine takes that is busy says nothing.
 *
 * @returns milliseconds of the processor since this was called.
 */
export function processorTime(): () => number {
  const since = process.cpuUsage();
  return () => process.cpuUsage(since).user / 1_000;
}
