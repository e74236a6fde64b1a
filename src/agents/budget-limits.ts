import type { Duration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';

/** Limits after which no further model call is made. A missing field doesn't limit. */
export interface BudgetLimits {
  /** Model calls that were answered, and calls whose worker was lost. Calls that a provider refused aren't counted. */
  modelCalls?: number;
  /** Tokens of prompts and answers, as the provider counts them. */
  tokens?: number;
  /** In the currency of the app's `prices`; every model of the app's agents needs a price then. */
  cost?: number;
  /**
   * Wall time: of a turn from its first step on, the waiting for workers and people included; of a session the sum of its
   * turns.
   *
   * @format milliseconds, or text like `'2 hours'`
   */
  time?: Duration;
}

/** {@link BudgetLimits} of each turn, and of each session as a whole. */
export interface Budgets {
  turn?: BudgetLimits;
  session?: BudgetLimits;
}

/** {@link BudgetLimits} that were checked; `time` in milliseconds. */
export interface ResolvedBudgetLimits {
  readonly modelCalls?: number;
  readonly tokens?: number;
  readonly cost?: number;
  readonly time?: number;
}

export interface ResolvedBudgets {
  readonly turn: ResolvedBudgetLimits;
  readonly session: ResolvedBudgetLimits;
}

/** @throws DefinitionError */
export function resolveBudgets(owner: string, field: string, budgets: unknown = {}): ResolvedBudgets {
  assertKnownFields(owner, budgets, ['turn', 'session'], { field });
  return Object.freeze({
    turn: resolveBudgetLimits(owner, `${field}.turn`, budgets.turn),
    session: resolveBudgetLimits(owner, `${field}.session`, budgets.session),
  });
}

/** @throws DefinitionError */
export function resolveBudgetLimits(
  owner: string,
  field: string,
  limits: unknown = {},
): ResolvedBudgetLimits {
  assertKnownFields(owner, limits, ['modelCalls', 'tokens', 'cost', 'time'], { field });
  const read = new OptionReader(owner, limits, field);
  return Object.freeze({
    ...(read.given('modelCalls') ? { modelCalls: read.count('modelCalls', 1) } : {}),
    ...(read.given('tokens') ? { tokens: read.count('tokens', 1) } : {}),
    ...(read.given('cost') ? { cost: positive(read, 'cost', limits.cost) } : {}),
    ...(read.given('time') ? { time: read.duration('time', 1) } : {}),
  });
}

function positive(read: OptionReader, name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  return read.fail(
    name,
    `expected a number greater than 0${typeof value === 'number' ? '' : `, got ${kindOf(value)}`}`,
  );
}
