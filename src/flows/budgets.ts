import type { ResolvedBudgetLimits } from '../agents/budget-limits.ts';
import type { LlmAgent } from '../agents/llm-agent.ts';
import type { AppSettings } from '../app/app-settings.ts';
import type { TurnUsage } from '../contract/sessions.ts';
import type { BudgetAbove, RunBudget, RunTerms, TurnRunConfig } from '../protocol/run-terms.ts';
import type { TurnError } from '../protocol/turn.ts';
import { formatDuration } from '../schema/duration.ts';
import type { SessionUsage } from '../store/turns/usage.ts';
import { priceOf } from './step-usage.ts';

const DEFAULT_MAX_LLM_CALLS = 500;

type BudgetOwner = 'turn' | 'session' | 'agent' | 'caller';

export interface Spent {
  /** The usage of earlier steps of the invocation. */
  usage: TurnUsage;
  /** The usage of the session, with this invocation; `time` is without it. */
  sessionUsage: SessionUsage;
  /** Milliseconds since the invocation began. */
  age: number;
}

/** The budget of the app that is used up, so that no further model call may be made; the turn's comes first. */
export function exceededBudget(
  { budgets }: AppSettings,
  { usage, sessionUsage, age }: Spent,
): TurnError | undefined {
  return (
    exceededLimit('turn', budgets.turn, usage, age) ??
    exceededLimit('session', budgets.session, sessionUsage, sessionUsage.time + age)
  );
}

/**
 * The budget of a called agent's run that is used up.
 *
 * @param age of the run, milliseconds.
 */
export function exceededRunBudget(
  budget: RunBudget | undefined,
  { usage, age }: Pick<Spent, 'usage' | 'age'>,
): TurnError | undefined {
  return budget === undefined ? undefined : exceededLimit('agent', budget, usage, age);
}

/**
 * The budget that is used up of one of the runs that an agent's run is part of.
 *
 * @param used of each, in the same order.
 */
export function exceededAbove(
  above: readonly BudgetAbove[] = [],
  used: readonly TurnUsage[] = [],
): TurnError | undefined {
  for (const [index, limits] of above.entries()) {
    const usage = used[index];
    const exceeded = usage && exceededLimit('caller', limits, usage, 0);
    if (exceeded !== undefined) return exceeded;
  }
  return undefined;
}

/**
 * Limits of a called agent's run: its tool's budget, the time that its caller has left, and the limits of its caller, which several
 * runs may share.
 *
 * @param caller its session and invocation, what it is kept to, and milliseconds that it has left.
 */
export function termsOfCall(
  own: ResolvedBudgetLimits | undefined,
  caller: Pick<RunTerms, 'budget' | 'above'> & { session: string; invocationId: string; timeLeft?: number },
): Pick<RunTerms, 'budget' | 'above'> {
  const { time: _time, ...counted } = caller.budget ?? {};
  const { above = [], session, invocationId: run } = caller;
  const all = Object.keys(counted).length === 0 ? above : [...above, { session, run, ...counted }];
  const times = [own?.time, caller.timeLeft].filter((time) => time !== undefined);
  const budget = { ...own, ...(times.length === 0 ? {} : { time: Math.min(...times) }) };
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(all.length === 0 ? {} : { above: all }),
  };
}

/** The limit of ADK's `RunConfig.maxLlmCalls`, where the model steps so far have used it up. */
export function exceededLlmCalls(
  { maxLlmCalls = DEFAULT_MAX_LLM_CALLS }: TurnRunConfig,
  steps: number,
): TurnError | undefined {
  if (maxLlmCalls <= 0 || steps < maxLlmCalls) return undefined;
  return {
    code: 'LLM_CALLS_LIMIT_EXCEEDED',
    message: `Max number of llm calls limit of ${maxLlmCalls} exceeded`,
  };
}

/** The limit of an agent's `maxIterations`, where its model steps in the invocation have used it up. */
export function exceededIterations(
  { name, durable: { maxIterations } }: Pick<LlmAgent, 'name' | 'durable'>,
  steps: number,
): TurnError | undefined {
  if (maxIterations === undefined || steps < maxIterations) return undefined;
  return {
    code: 'MAX_ITERATIONS_EXCEEDED',
    message: `Max iterations limit of \`${maxIterations}\` of agent ${name} exceeded`,
  };
}

/**
 * Milliseconds until a time budget is used up, 0 where one is; `undefined` without such a budget.
 *
 * @param spent `sessionTime`: wall time of the session's ended invocations. `run`: milliseconds that a called agent's run has left.
 */
export function timeLeft(
  { budgets: { turn, session } }: AppSettings,
  { age, sessionTime, run }: { age: number; sessionTime: number; run?: number | undefined },
): number | undefined {
  const left = [
    ...(turn.time === undefined ? [] : [turn.time - age]),
    ...(session.time === undefined ? [] : [session.time - sessionTime - age]),
    ...(run === undefined ? [] : [run]),
  ];
  return left.length === 0 ? undefined : Math.max(0, Math.ceil(Math.min(...left)));
}

/**
 * A model without a price, where a cost budget could therefore not be kept. `createWorker` finds out about an app's own
 * agents; a turn can name any agent of the worker.
 */
export function missingPrice(
  { budgets: { turn, session }, prices }: AppSettings,
  agent: string,
  model: string,
): TurnError | undefined {
  if (turn.cost === undefined && session.cost === undefined) return undefined;
  if (priceOf(prices, model) !== undefined) return undefined;
  return { code: 'HOLDFAST_PRICE_MISSING', message: missingPriceText(agent, model) };
}

export function missingPriceText(agent: string, model: string): string {
  return (
    `no price for the model ${JSON.stringify(model)} of the agent ${JSON.stringify(agent)}, which a cost budget needs: ` +
    "add it to the app's durable.prices, or the beginning of its name and *"
  );
}

function exceededLimit(
  of: BudgetOwner,
  limits: ResolvedBudgetLimits,
  usage: TurnUsage,
  time: number,
): TurnError | undefined {
  const { modelCalls, tokens, cost } = limits;
  if (modelCalls !== undefined && usage.modelCalls >= modelCalls) {
    return exceeded(of, `${modelCalls} model calls`, `${usage.modelCalls}`);
  }
  // Calls whose worker was lost are counted; what they used is not known.
  const atLeast = (usage.unknownCalls ?? 0) > 0 ? 'at least ' : '';
  if (tokens !== undefined && usage.totalTokens >= tokens) {
    return exceeded(of, `${tokens} tokens`, `${atLeast}${usage.totalTokens}`);
  }
  if (cost !== undefined && (usage.cost ?? 0) >= cost) {
    return exceeded(of, `a cost of ${cost}`, `${atLeast}${formatCost(usage.cost ?? 0)}`);
  }
  if (limits.time !== undefined && time >= limits.time) {
    return exceeded(of, formatDuration(limits.time), formatDuration(Math.round(time)));
  }
  return undefined;
}

function exceeded(of: BudgetOwner, limit: string, used: string): TurnError {
  return {
    code: 'HOLDFAST_BUDGET_EXCEEDED',
    message: `the ${of}'s budget of ${limit} is used up: ${used} used`,
  };
}

/** Sums of prices have rounding errors in their last digits. */
function formatCost(cost: number): string {
  return `${Number(cost >= 1 ? cost.toFixed(6) : cost.toPrecision(6))}`;
}
