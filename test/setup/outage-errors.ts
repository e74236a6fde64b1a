import { isGrpcServiceError } from '@temporalio/client';
import { NoAnswer } from '../../src/client/client-errors.ts';
import { StoreError } from '../../src/store/store-errors.ts';

/** CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED, INTERNAL, UNAVAILABLE: a server that goes or comes. */
const OUTAGE_CODES: ReadonlySet<number> = new Set([1, 2, 4, 8, 10, 13, 14]);

const DEEPEST_CAUSE = 8;

/** Whether a client met a server, a store or a worker that was down. */
export function isOutage(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; depth < DEEPEST_CAUSE && cause instanceof Error; depth++) {
    if (cause instanceof NoAnswer) return true;
    if (cause instanceof StoreError) return cause.retryable;
    if (isGrpcServiceError(cause)) return OUTAGE_CODES.has(Number(cause.code));
    cause = cause.cause;
  }
  return false;
}
