import { describe, expect, test } from 'vitest';
import type { Budgets } from '../../src/agents/budget-limits.ts';
import { DEFAULT_APP_SETTINGS, resolveAppSettings } from '../../src/app/app-settings.ts';
import type { TurnUsage } from '../../src/contract/sessions.ts';
import { exceededBudget, exceededLlmCalls, missingPrice, timeLeft } from '../../src/flows/budgets.ts';
import type { SessionUsage } from '../../src/store/turns/usage.ts';

const NOTHING: TurnUsage = { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 };

const settings = (budgets: Budgets, prices = {}) =>
  resolveAppSettings('App "shop"', 'durable', { budgets, prices });

function exceeded(
  budgets: Budgets,
  spent: { turn?: Partial<TurnUsage>; session?: Partial<SessionUsage>; age?: number },
) {
  return exceededBudget(settings(budgets), {
    usage: { ...NOTHING, ...spent.turn },
    sessionUsage: { ...NOTHING, time: 0, ...spent.turn, ...spent.session },
    age: spent.age ?? 0,
  });
}

describe('a budget that is used up [budget.limits]', () => {
  test.each<[string, Budgets, Parameters<typeof exceeded>[1]]>([
    [
      "the turn's budget of 3 model calls is used up: 3 used",
      { turn: { modelCalls: 3 } },
      { turn: { modelCalls: 3 } },
    ],
    [
      "the turn's budget of 1000 tokens is used up: 1200 used",
      { turn: { tokens: 1_000 } },
      { turn: { totalTokens: 1_200 } },
    ],
    [
      "the turn's budget of 1000 tokens is used up: at least 1200 used",
      { turn: { tokens: 1_000 } },
      { turn: { totalTokens: 1_200, modelCalls: 4, unknownCalls: 1 } },
    ],
    [
      "the session's budget of a cost of 0.3 is used up: 0.3 used",
      { session: { cost: 0.3 } },
      { session: { cost: 0.1 + 0.2 } },
    ],
    [
      "the session's budget of a cost of 2 is used up: at least 2.25 used",
      { session: { cost: 2 } },
      { session: { cost: 2.25, unknownCalls: 2 } },
    ],
    ["the turn's budget of 1 h is used up: 1 h used", { turn: { time: '1h' } }, { age: 3_600_000 }],
    [
      "the session's budget of 10 s is used up: 11 s used",
      { session: { time: '10s' } },
      { session: { time: 9_000 }, age: 2_000 },
    ],
    [
      "the turn's budget of 3 model calls is used up: 3 used",
      { turn: { modelCalls: 3 }, session: { modelCalls: 3 } },
      { turn: { modelCalls: 3 } },
    ],
  ])('%s', (message, budgets, spent) => {
    expect(exceeded(budgets, spent)).toEqual({ code: 'HOLDFAST_BUDGET_EXCEEDED', message });
  });

  test.each<[string, Budgets, Parameters<typeof exceeded>[1]]>([
    ['no budget', {}, { turn: { modelCalls: 9_999, totalTokens: 1e12, cost: 1e9 }, age: 1e12 }],
    ['less', { turn: { modelCalls: 3, tokens: 10 } }, { turn: { modelCalls: 2, totalTokens: 9 } }],
    ['no cost known', { turn: { cost: 1 }, session: { cost: 1 } }, { turn: { modelCalls: 5 } }],
    ["the session's use", { turn: { modelCalls: 3 } }, { session: { modelCalls: 300 } }],
    ['less time', { session: { time: 1_000 } }, { session: { time: 500 }, age: 499 }],
  ])('is not: %s', (_what, budgets, spent) => expect(exceeded(budgets, spent)).toBeUndefined());

  test('maxLlmCalls has the code and the text of ADK, and 500 as its default', () => {
    expect(exceededLlmCalls({ maxLlmCalls: 2 }, 1)).toBeUndefined();
    expect(exceededLlmCalls({ maxLlmCalls: 2 }, 2)).toEqual({
      code: 'LLM_CALLS_LIMIT_EXCEEDED',
      message: 'Max number of llm calls limit of 2 exceeded',
    });
    expect(exceededLlmCalls({}, 499)).toBeUndefined();
    expect(exceededLlmCalls({}, 500)).toMatchObject({ code: 'LLM_CALLS_LIMIT_EXCEEDED' });
    expect(exceededLlmCalls({ maxLlmCalls: 0 }, 1_000_000)).toBeUndefined();
    expect(exceededLlmCalls({ maxLlmCalls: -1 }, 1_000_000)).toBeUndefined();
  });
});

describe('time that is left [budget.limits]', () => {
  const both: Budgets = { turn: { time: '10s' }, session: { time: '15s' } };
  test.each<[string, Budgets, { age: number; sessionTime: number }, number | undefined]>([
    ['no budget', { turn: { tokens: 5 } }, { age: 1, sessionTime: 1 }, undefined],
    ["the turn's", both, { age: 1_000, sessionTime: 1_000 }, 9_000],
    ["the session's, where that is less", both, { age: 1_000, sessionTime: 9_000 }, 5_000],
    ['never less than none', both, { age: 1_000, sessionTime: 99_000 }, 0],
    ['a whole number, none only where none is left', both, { age: 9_999.9, sessionTime: 0 }, 1],
  ])('%s', (_which, budgets, spent, left) => expect(timeLeft(settings(budgets), spent)).toBe(left));
});

test('a model without a price can keep no cost budget [budget.limits]', () => {
  const prices = { 'gemini-*': { input: 1, output: 1 } };
  expect(missingPrice(DEFAULT_APP_SETTINGS, 'support', 'own')).toBeUndefined();
  expect(missingPrice(settings({ turn: { tokens: 5 } }, prices), 'support', 'own')).toBeUndefined();
  expect(missingPrice(settings({ turn: { cost: 5 } }, prices), 'support', 'gemini-3')).toBeUndefined();
  expect(missingPrice(settings({ session: { cost: 5 } }, prices), 'support', 'own')).toEqual({
    code: 'HOLDFAST_PRICE_MISSING',
    message: expect.stringMatching(/^no price for the model "own" of the agent "support"/),
  });
});
