import type { Duration } from '../schema/duration.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, type Resolved, readGroup } from '../schema/options.ts';

/** How own failures are tried again. Names: `RetryPolicy` of Temporal. */
export interface RetryOptions {
  /**
   * Own failures until the call is given up. Attempts that a lost worker, an unreachable store or a 429 ended don't
   * count.
   *
   * @default 3; 1 where calls wait for a person's approval
   */
  maximumAttempts?: number;
  /**
   * Wait before the second attempt.
   *
   * @default 1 second, or `maximumInterval` where that is shorter
   * @format milliseconds, or text like `'2s'`
   */
  initialInterval?: Duration;
  /**
   * Longest wait between two attempts.
   *
   * @default 30 seconds, or `initialInterval` where that is longer
   * @format milliseconds, or text like `'2 minutes'`
   */
  maximumInterval?: Duration;
  /**
   * By how much each wait is longer than the one before.
   *
   * @default 2
   */
  backoffCoefficient?: number;
}

export const RETRY = {
  maximumAttempts: option.count(3),
  initialInterval: option.duration(1_000),
  maximumInterval: option.duration(30_000),
  backoffCoefficient: option.number(1, 2),
} satisfies OptionsFor<RetryOptions>;

/** {@link RetryOptions} with its defaults; milliseconds. */
export interface ResolvedRetryOptions extends Resolved<typeof RETRY> {}

/** @throws DefinitionError */
export function resolveRetryOptions(
  owner: string,
  field: string,
  options: unknown = {},
  maximumAttempts = 3,
): ResolvedRetryOptions {
  return readGroup(RETRY, { owner, options, field }, (retry, read) => {
    const { initialInterval } = retry;
    const longest = read.given('maximumInterval') ? retry.maximumInterval : Math.max(30_000, initialInterval);
    if (read.given('initialInterval') && longest < initialInterval) {
      read.fail('maximumInterval', 'must not be shorter than initialInterval');
    }
    return {
      ...retry,
      ...(read.given('maximumAttempts') ? {} : { maximumAttempts }),
      initialInterval: Math.min(initialInterval, longest),
      maximumInterval: longest,
    };
  });
}
