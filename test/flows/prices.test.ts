import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { settingsOf } from '../../activities/deployment.ts';
import { type PriceTable, resolvePriceTable } from '../../src/app/price-table.ts';
import { costOf } from '../../src/flows/step-usage.ts';

const prices = (table: PriceTable) => resolvePriceTable('App "shop"', 'durable.prices', table);
const MILLION = 1_000_000;

describe('what a model call costs [app.settings]', () => {
  const table = prices({
    'gemini-2.5-pro': { input: 2, output: 10, cachedInput: 0.5 },
    'gemini-2.5-*': { input: 1, output: 4 },
    'gemini-*': { input: 0.5, output: 2 },
    claude: { input: 4, output: 20, cachedInput: 0.5, cacheWriteInput: 5 },
  });

  test('per million tokens; thoughts are output, cached ones cost what they cost', () => {
    expect(costOf(table, 'gemini-2.5-pro', { promptTokenCount: MILLION })).toBe(2);
    expect(costOf(table, 'gemini-2.5-pro', { candidatesTokenCount: 100, thoughtsTokenCount: 900 })).toBe(
      0.01,
    );
    const cached = { promptTokenCount: MILLION, cachedContentTokenCount: MILLION / 2 };
    expect(costOf(table, 'gemini-2.5-pro', cached)).toBe(1.25);
    expect(costOf(table, 'gemini-2.5-flash', cached)).toBe(1);
    expect(costOf(table, 'gemini-2.5-flash', { toolUsePromptTokenCount: MILLION })).toBe(1);
  });

  test('tokens that are written into a cache have their price, or that of the prompt [model.aiSdk.cacheWrite]', () => {
    const usage = {
      promptTokenCount: MILLION,
      cachedContentTokenCount: MILLION / 2,
      cacheWriteTokenCount: MILLION / 4,
    };
    expect(costOf(table, 'claude', usage)).toBe(1 + 0.25 + 1.25);
    expect(costOf(table, 'gemini-2.5-pro', usage)).toBe(1 + 0.25);
    expect(costOf(table, 'claude', { ...usage, cacheWriteTokenCount: 9 * MILLION })).toBe(0.25 + 2.5);
  });

  test('terms of an app from before there was such a price are read as before [model.aiSdk.cacheWrite]', () => {
    const old = { 'claude-*': { input: 4, output: 20, cachedInput: 0.5 } };
    const deployment = { rootAgent: 'a', roots: new Map(), apps: new Map(), plugins: new Map() };
    const terms = { budgets: { turn: {}, session: {} }, runConfig: {}, prices: old };
    const { prices: known } = settingsOf(deployment, 'shop', terms);
    const usage = { promptTokenCount: MILLION, cacheWriteTokenCount: MILLION / 2 };
    expect(costOf(known, 'claude-x', usage)).toBe(4);
  });

  test('the exact name wins, then the longest beginning', () => {
    const usage = { promptTokenCount: MILLION };
    expect(costOf(table, 'gemini-2.5-pro', usage)).toBe(2);
    expect(costOf(table, 'gemini-2.5-pro-latest', usage)).toBe(1);
    expect(costOf(table, 'gemini-3', usage)).toBe(0.5);
    expect(costOf(prices({ '*': { input: 9, output: 9 } }), 'whatever', usage)).toBe(9);
  });

  test.each(['claude-4', 'gemini', '', 'constructor', '__proto__', 'gemini-2.5-'.slice(0, 6)])(
    'a model without a price costs nobody knows what: %j',
    (model) => expect(costOf(table, model, { promptTokenCount: 1 })).toBeUndefined(),
  );

  test('neither does a call whose usage is not told', () => {
    expect(costOf(table, 'gemini-3', undefined)).toBeUndefined();
    expect(costOf(table, 'gemini-3', {})).toBe(0);
  });

  test('counts that are none count as none: the cost is a finite number, 0 or more', () => {
    const nonsense = fc.oneof(fc.double(), fc.integer(), fc.string(), fc.constant(null), fc.constant({}));
    const usage = fc.record(
      {
        promptTokenCount: nonsense,
        cachedContentTokenCount: nonsense,
        cacheWriteTokenCount: nonsense,
        candidatesTokenCount: nonsense,
        thoughtsTokenCount: nonsense,
        toolUsePromptTokenCount: nonsense,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(usage, (given) => {
        const cost = costOf(table, 'gemini-2.5-pro', given as object);
        expect(Number.isFinite(cost)).toBe(true);
        expect(cost).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test('more in the cache than in the prompt costs no less than nothing', () => {
    const usage = { promptTokenCount: MILLION, cachedContentTokenCount: 2 * MILLION };
    expect(costOf(table, 'gemini-2.5-pro', usage)).toBe(0.5);
  });
});
