import { ApplicationFailure } from '@temporalio/workflow';
import { type CheckOf, take } from '../src/contract/check.ts';
import type { ErrorCode } from '../src/contract/error-codes.ts';

/** Refuses what a client sent; a field's problem names its shape and what to do, never its value. */
export type Refuse = (field: string, problem: string) => ApplicationFailure;

/**
 * Checks a client's argument by its contract; null counts as absent. Clients may be of any language. The check runs again on every
 * replay, so a release may tighten a contract only by `patched()`.
 *
 * @param of the workflow, the signal or the update.
 * @throws ApplicationFailure of the type, that names the field.
 */
export function taken<T>(
  check: CheckOf<T>,
  given: unknown,
  { of, type }: { of: string; type: ErrorCode },
): T {
  const { value, problem } = take(check, given, { nullIsAbsent: true });
  if (problem !== undefined) throw refusal(of, type, problem.field || 'arguments', problem.problem);
  return value as T;
}

/** A failure that says what to correct. */
export function refusal(of: string, type: ErrorCode, field: string, problem: string): ApplicationFailure {
  return failure(type, `${of}: ${field}: ${problem}`, { field });
}

/** A failure that says nothing of where the worker is installed. */
export function failure(type: ErrorCode, text: string, ...details: object[]): ApplicationFailure {
  const failed = ApplicationFailure.nonRetryable(text, type, ...details);
  failed.stack = '';
  return failed;
}
