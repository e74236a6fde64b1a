import { vi } from 'vitest';

/**
 * Waits until `holds` neither throws nor rejects, for tests that run at the same time: `expect.poll` knows only one of them.
 */
export function until<T>(holds: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(holds, { timeout: 120_000, interval: 50 });
}
