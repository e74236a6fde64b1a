import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';

/** How much of an app runs at the same time. */
export interface Limits {
  /**
   * Turns that run at the same time, on all workers; others wait for their first step. A missing field doesn't limit. A turn in
   * which nothing has happened for 10 minutes, for example while it waits for a person, counts no more, and goes on when it can.
   *
   * @example { perApp: 100, perUser: 5 }
   */
  runningTurns?: RunningTurns;
}

export interface RunningTurns {
  /** Of all users. */
  perApp?: number;
  /** Of each user. */
  perUser?: number;
}

/** {@link Limits} that were checked; `runningTurns` is there where it limits something. */
export interface ResolvedLimits {
  readonly runningTurns?: Readonly<RunningTurns>;
}

/** @throws DefinitionError */
export function resolveLimits(owner: string, field: string, limits: unknown = {}): ResolvedLimits {
  assertKnownFields(owner, limits, ['runningTurns'], { field });
  const runningTurns = resolveTurns(owner, `${field}.runningTurns`, limits.runningTurns);
  return Object.freeze(Object.keys(runningTurns).length === 0 ? {} : { runningTurns });
}

function resolveTurns(owner: string, field: string, turns: unknown = {}): Readonly<RunningTurns> {
  assertKnownFields(owner, turns, ['perApp', 'perUser'], { field });
  const read = new OptionReader(owner, turns, field);
  return Object.freeze({
    ...(read.given('perApp') ? { perApp: read.count('perApp', 1) } : {}),
    ...(read.given('perUser') ? { perUser: read.count('perUser', 1) } : {}),
  });
}
