import type { Context } from '../../src/tools/context.ts';

const INTERVAL = 100;

/**
 * Beats while a tool waits. A cancellation comes with the answer to a heartbeat, of which Holdfast's own come at a third of
 * their timeout: a tool that learns of it soon needs either these or a timeout that a slow machine exceeds.
 */
export async function beating<T>(context: Context, waiting: Promise<T>, details: object = {}): Promise<T> {
  context.heartbeat(details);
  const timer = setInterval(() => context.heartbeat(details), INTERVAL);
  try {
    return await waiting;
  } finally {
    clearInterval(timer);
  }
}
