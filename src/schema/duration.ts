import { msToNumber } from '@temporalio/common/lib/time.js';
import { kindOf } from './kind-of.ts';

type Unit =
  | 'Milliseconds'
  | 'Millisecond'
  | 'Msecs'
  | 'Msec'
  | 'Ms'
  | 'Seconds'
  | 'Second'
  | 'Secs'
  | 'Sec'
  | 'S'
  | 'Minutes'
  | 'Minute'
  | 'Mins'
  | 'Min'
  | 'M'
  | 'Hours'
  | 'Hour'
  | 'Hrs'
  | 'Hr'
  | 'H'
  | 'Days'
  | 'Day'
  | 'D'
  | 'Weeks'
  | 'Week'
  | 'W'
  | 'Years'
  | 'Year'
  | 'Yrs'
  | 'Yr'
  | 'Y';
type UnitOfAnyCase = Unit | Uppercase<Unit> | Lowercase<Unit>;

/**
 * Milliseconds, or text like `'30s'`, `'5 minutes'`: what Temporal calls a `Duration`, whose own type is `any` to
 * ESM programs, because the package `ms` keeps its declarations from them.
 */
export type Duration = number | `${number}` | `${number}${UnitOfAnyCase}` | `${number} ${UnitOfAnyCase}`;

/** `'10 years'`, of 365.25 days each. */
const LONGEST = 3_652.5 * 86_400_000;

/**
 * Reads a duration: milliseconds, or text as Temporal takes it (`'30s'`, `'5 minutes'`).
 *
 * @returns whole milliseconds, 1 or more; or the problem.
 */
export function readDuration(value: unknown): { ms: number } | { problem: string } {
  const wanted = `expected milliseconds or a duration like '30s' or '5 minutes'`;
  if (typeof value !== 'number' && typeof value !== 'string')
    return { problem: `${wanted}, got ${kindOf(value)}` };
  const ms = typeof value === 'number' ? value : parsed(value);
  if (ms === undefined || Number.isNaN(ms)) return { problem: wanted };
  if (ms <= 0) return { problem: 'must be longer than 0' };
  if (ms > LONGEST) return { problem: 'must be at most 10 years' };
  return { ms: Math.max(1, Math.round(ms)) };
}

function parsed(text: string): number | undefined {
  try {
    return msToNumber(text);
  } catch {
    // It throws for every text that it can't read, and its message repeats the text.
    return undefined;
  }
}

/** `90000` → `1.5 min`, for messages. */
export function formatDuration(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`;
  if (ms % 60_000 === 0) return `${ms / 60_000} min`;
  return ms % 1_000 === 0 ? `${ms / 1_000} s` : `${ms} ms`;
}
