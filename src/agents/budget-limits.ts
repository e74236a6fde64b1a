import type { Duration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import * as option from '../schema/option-kinds.ts';
import { type OptionReader, type OptionsFor, type Resolved, readGroup } from '../schema/options.ts';

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

export const BUDGET_LIMITS = {
  modelCalls: option.count(),
  tokens: option.count(),
  cost: option.custom(positive),
  time: option.duration(),
} satisfies OptionsFor<BudgetLimits>;

/** {@link BudgetLimits} that were checked; `time` in milliseconds. */
export interface ResolvedBudgetLimits extends Resolved<typeof BUDGET_LIMITS> {}

export const BUDGETS = {
  turn: option.group(resolveBudgetLimits),
  session: option.group(resolveBudgetLimits),
} satisfies OptionsFor<Budgets>;

export interface ResolvedBudgets extends Resolved<typeof BUDGETS> {}

/** @throws DefinitionError */
export function resolveBudgets(owner: string, field: string, options: unknown = {}): ResolvedBudgets {
  return readGroup(BUDGETS, { owner, options, field });
}

/** @throws DefinitionError */
export function resolveBudgetLimits(
  owner: string,
  field: string,
  options: unknown = {},
): ResolvedBudgetLimits {
  return readGroup(BUDGET_LIMITS, { owner, options, field });
}

function positive(value: unknown, read: OptionReader, name: string): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
  return read.fail(
    name,
    `expected a number greater than 0${typeof value === 'number' ? '' : `, got ${kindOf(value)}`}`,
  );
}
