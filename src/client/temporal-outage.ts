import { isGrpcServiceError } from '@temporalio/client';
import { TemporalUnreachable } from './client-errors.ts';

/** gRPC's CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE: what passes. */
const PASSING = new Set([1, 4, 8, 14]);

/**
 * Asks Temporal, and tells an outage of it by the class that both clients have.
 *
 * @param signal whose abort is no outage.
 * @throws TemporalUnreachable, and what `ask` throws otherwise.
 */
export async function withOutageTold<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (signal?.aborted || !isTemporalAway(error)) throw error;
    // The connection's own words may quote what it was configured with.
    throw new TemporalUnreachable('Temporal can’t be reached now: try again', { cause: error });
  }
}

/** Temporal's client wraps what the connection says. */
export function isTemporalAway(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((each) => isGrpcServiceError(each) && PASSING.has(Number(each.code)));
}
