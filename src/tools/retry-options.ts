import type { Duration } from '../schema/duration.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';

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

/** {@link RetryOptions} with its defaults; milliseconds. */
export interface ResolvedRetryOptions {
  readonly maximumAttempts: number;
  readonly initialInterval: number;
  readonly maximumInterval: number;
  readonly backoffCoefficient: number;
}

const FIELDS = ['maximumAttempts', 'initialInterval', 'maximumInterval', 'backoffCoefficient'];

/** @throws DefinitionError */
export function resolveRetryOptions(
  owner: string,
  field: string,
  options: unknown = {},
  maximumAttempts = 3,
): ResolvedRetryOptions {
  assertKnownFields(owner, options, FIELDS, { field });
  const read = new OptionReader(owner, options, field);
  const initialInterval = read.duration('initialInterval', 1_000);
  const maximumInterval = read.duration('maximumInterval', Math.max(30_000, initialInterval));
  if (read.given('initialInterval') && maximumInterval < initialInterval) {
    read.fail('maximumInterval', 'must not be shorter than initialInterval');
  }
  return Object.freeze({
    maximumAttempts: read.count('maximumAttempts', maximumAttempts),
    initialInterval: Math.min(initialInterval, maximumInterval),
    maximumInterval,
    backoffCoefficient: read.number('backoffCoefficient', 2, 1),
  });
}
