import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, type Resolved, readGroup } from '../schema/options.ts';

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

export const RUNNING_TURNS = {
  perApp: option.count(),
  perUser: option.count(),
} satisfies OptionsFor<RunningTurns>;

export const LIMITS = {
  runningTurns: option.group((owner, field, options = {}): Readonly<RunningTurns> | undefined =>
    readGroup(RUNNING_TURNS, { owner, options, field }, (turns) =>
      Object.keys(turns).length === 0 ? undefined : turns,
    ),
  ),
} satisfies OptionsFor<Limits>;

/** {@link Limits} that were checked; `runningTurns` is there where it limits something. */
export interface ResolvedLimits extends Resolved<typeof LIMITS> {}

/** @throws DefinitionError */
export function resolveLimits(owner: string, field: string, options: unknown = {}): ResolvedLimits {
  return readGroup(LIMITS, { owner, options, field });
}
