import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App, type AppOptions, isApp } from '../../src/app/app.ts';
import { type AppDurableOptions, DEFAULT_APP_SETTINGS, runConfigOf } from '../../src/app/app-settings.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { refusal } from './refusal.ts';

const rootAgent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash' });
const shop = (durable: AppDurableOptions) => new App({ name: 'shop', rootAgent, durable });
const query = () => tool({ name: 'query', description: '', execute: () => 1 });

const pager = { name: 'pager', notify: async () => undefined };

class Spend extends BasePlugin {}

describe('App [app.settings]', () => {
  test('defaults', () => {
    const app = new App({ name: 'shop', rootAgent });
    expect(app).toMatchObject({ name: 'shop', rootAgent, plugins: [], durable: DEFAULT_APP_SETTINGS });
    expect(app.rootAgent).toBe(rootAgent);
    expect(DEFAULT_APP_SETTINGS).toEqual({
      prices: {},
      budgets: { turn: {}, session: {} },
      limits: {},
      runConfig: {},
      toolFactories: new Map(),
      oauth: {},
      approval: { trustTemporal: false, issuers: [], trustGateway: true },
      notifiers: [],
      markUntrusted: false,
    });
    expect(app.resumabilityConfig).toBeUndefined();
  });

  test('keeps what it is given, durations in milliseconds', () => {
    const { durable } = shop({
      retention: '90 days',
      prices: { 'gemini-*': { input: 1, output: 2 }, local: { input: 0, output: 0, cachedInput: 0 } },
      budgets: { turn: { modelCalls: 20, cost: 0.5, time: '2h' }, session: { tokens: 1_000_000 } },
      limits: { runningTurns: { perApp: 100, perUser: 5 } },
      runConfig: {
        maxLlmCalls: 0,
        streamingMode: 'sse',
        pauseOnToolCalls: true,
        customMetadata: { desk: ['a'] },
      },
      toolFactories: { query },
      approval: { trustTemporal: true },
      notifiers: [pager],
      markUntrusted: true,
    });
    expect(durable).toEqual({
      retention: 90 * 86_400_000,
      prices: {
        'gemini-*': { input: 1, output: 2, cachedInput: 1, cacheWriteInput: 1 },
        local: { input: 0, output: 0, cachedInput: 0, cacheWriteInput: 0 },
      },
      budgets: { turn: { modelCalls: 20, cost: 0.5, time: 7_200_000 }, session: { tokens: 1_000_000 } },
      limits: { runningTurns: { perApp: 100, perUser: 5 } },
      runConfig: {
        maxLlmCalls: 0,
        streamingMode: 'sse',
        pauseOnToolCalls: true,
        customMetadata: { desk: ['a'] },
      },
      toolFactories: new Map([['query', query]]),
      oauth: {},
      approval: { trustTemporal: true, issuers: [], trustGateway: true },
      notifiers: [pager],
      markUntrusted: true,
    });
  });

  test('is a value: neither it nor its settings can be changed, nor through what they were made of', () => {
    const price = { input: 1, output: 2 };
    const app = shop({ prices: { m: price }, budgets: { turn: { tokens: 5 } } });
    price.input = 7;
    expect(app.durable.prices.m?.input).toBe(1);
    const { prices, budgets, runConfig } = app.durable;
    const frozen = [app, app.plugins, app.durable, prices, prices.m, budgets, budgets.turn, runConfig];
    expect(frozen.filter((value) => !Object.isFrozen(value))).toEqual([]);
  });

  test('is known by its symbol, of another copy of the package too, and never taken for one of ADK', () => {
    expect(isApp(new App({ name: 'shop', rootAgent }))).toBe(true);
    expect(isApp({ [Symbol.for('holdfast.app')]: true })).toBe(true);
    expect(isApp({ name: 'shop', rootAgent })).toBe(false);
    expect(isApp(null)).toBe(false);
    const agent = new adk.LlmAgent({ name: 'support', model: 'gemini-2.5-flash' });
    expect(isApp(new adk.App({ name: 'shop', rootAgent: agent }))).toBe(false);
  });

  test.each(['shop', 'Shop-2_x', 'a'])('the name %s is one, as in ADK', (name) => {
    expect(new App({ name, rootAgent }).name).toBe(name);
    expect(() => adk.validateAppName(name)).not.toThrow();
  });
  test.each(['1shop', '_shop', 'my shop', 'shöp', '', 'user', 'a/b', 'shop\n'])(
    'the name %j is none, as in ADK',
    (name) => {
      expect(refusal(() => new App({ name, rootAgent }))).toMatchObject({ owner: 'App', field: 'name' });
      expect(() => adk.validateAppName(name)).toThrow();
    },
  );

  test.each<[string, object | undefined, string]>([
    ['nothing', undefined, 'App: expected an object, got undefined'],
    ['no name', { name: undefined }, 'App: name: required'],
    ['no text', { name: 5 }, 'App: name: expected a string, got number'],
    ['a long name', { name: 'x'.repeat(129) }, 'App: name: must have at most 128 characters, has 129'],
    ['no root agent', { rootAgent: undefined }, 'App "shop": rootAgent: rootAgent must be provided.'],
    ['no agent', { rootAgent: {} }, 'App "shop": rootAgent: expected an agent, got object'],
    [
      "ADK's agent",
      { rootAgent: new adk.LlmAgent({ name: 'support', model: 'gemini-2.5-flash' }) },
      `App "shop": rootAgent: an agent of @google/adk; import its class from 'holdfast' instead`,
    ],
    ['plugins', { plugins: new Spend('a') }, 'App "shop": plugins: expected a list of plugins, got object'],
    ['a plugin', { plugins: [new Spend('a'), {}] }, 'App "shop": plugins[1]: expected a plugin, got object'],
    [
      'two plugins of a name',
      { plugins: [new Spend('a'), new Spend('a')] },
      `App "shop": plugins[1]: Plugin with name 'a' already registered.`,
    ],
    [
      'resumabilityConfig',
      { resumabilityConfig: { resumable: true } },
      'App "shop": resumabilityConfig.resumable: unknown option; did you mean "isResumable"?',
    ],
    ['an unknown option', { rootAgnt: 1 }, 'App "shop": rootAgnt: unknown option; did you mean "rootAgent"?'],
    ['durable', { durable: 1 }, 'App "shop": durable: expected an object, got number'],
  ])('refuses %s', (_what, options, message) => {
    const given = options === undefined ? options : { name: 'shop', rootAgent, ...options };
    expect(refusal(() => new App(given as unknown as AppOptions)).message).toContain(message);
  });

  test('keeps plugins in order, and what ADK programs say of resuming', () => {
    const plugins = [new Spend('a'), new Spend('b')];
    const app = new App({ name: 'shop', rootAgent, plugins, resumabilityConfig: { isResumable: true } });
    plugins.pop();
    expect(app.plugins.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(app.resumabilityConfig).toEqual({ isResumable: true });
  });

  test('settings of an app make the settings of another', () => {
    const { durable } = shop({ retention: '1 day', toolFactories: { query }, runConfig: { maxLlmCalls: 3 } });
    expect(shop(durable).durable).toEqual(durable);
  });

  test('takes what ADK programs pass through as undefined or empty', () => {
    const options = {
      name: 'shop',
      rootAgent,
      plugins: [],
      resumabilityConfig: undefined,
      durable: undefined,
    };
    expect(new App(options).durable).toEqual(DEFAULT_APP_SETTINGS);
  });
});

describe('durable options of an App: each is refused by its name [app.settings]', () => {
  test.each<[string, string, object]>([
    ['limits', 'expected an object, got number', { limits: 5 }],
    ['limits.runingTurns', 'did you mean "runningTurns"?', { limits: { runingTurns: {} } }],
    ['limits.runningTurns', 'expected an object, got number', { limits: { runningTurns: 5 } }],
    ['limits.runningTurns.perUser', '1 or more', { limits: { runningTurns: { perUser: 0 } } }],
    ['limits.runningTurns.perApp', '1 or more', { limits: { runningTurns: { perApp: 1.5 } } }],
    ['limits.runningTurns.perSession', 'unknown option', { limits: { runningTurns: { perSession: 1 } } }],
    ['retentoin', 'unknown option; did you mean "retention"?', { retentoin: 1 }],
    ['prices', 'expected prices by model, got array', { prices: [] }],
    ['prices["m"]', 'expected an object, got number', { prices: { m: 3 } }],
    [
      'prices["m"].output',
      'required: expected a price per million tokens, 0 or more',
      { prices: { m: { input: 1 } } },
    ],
    ['prices["m"].input', 'expected a price per million tokens', { prices: { m: { input: -1, output: 1 } } }],
    ['prices["m"].input', '0 or more, got string', { prices: { m: { input: '1', output: 1 } } }],
    [
      'prices["m"].cachedInput',
      '0 or more',
      { prices: { m: { input: 1, output: 1, cachedInput: Infinity } } },
    ],
    [
      'prices["m"].cacheWriteInput',
      '0 or more, got string',
      { prices: { m: { input: 1, output: 1, cacheWriteInput: '2' } } },
    ],
    [
      'prices["m"].cached',
      'did you mean "cachedInput"?',
      { prices: { m: { input: 1, output: 1, cached: 1 } } },
    ],
    ['prices["a*b"]', '* stands at the end of a name only', { prices: { 'a*b': { input: 1, output: 1 } } }],
    ['prices[" "]', 'expected the name of a model', { prices: { ' ': { input: 1, output: 1 } } }],
    ['budgets.app', 'unknown option', { budgets: { app: {} } }],
    ['budgets.turn', 'expected an object, got number', { budgets: { turn: 5 } }],
    ['budgets.session.cost', 'expected a number greater than 0', { budgets: { session: { cost: 0 } } }],
    ['budgets.session.cost', 'greater than 0, got string', { budgets: { session: { cost: '5' } } }],
    ['budgets.turn.toknes', 'did you mean "tokens"?', { budgets: { turn: { toknes: 1 } } }],
    [
      'runConfig.maxLlmCalls',
      'expected a whole number, 0 or less for no limit',
      { runConfig: { maxLlmCalls: 1.5 } },
    ],
    ['runConfig.streamingMode', "expected 'none' or 'sse'", { runConfig: { streamingMode: 'bidi' } }],
    [
      'runConfig.saveInputBlobsAsArtifacts',
      'unknown option',
      { runConfig: { saveInputBlobsAsArtifacts: true } },
    ],
    ['runConfig.customMetadata', 'an object of JSON, got array', { runConfig: { customMetadata: [] } }],
    ['runConfig.customMetadata.a[0]', 'JSON has no bigint', { runConfig: { customMetadata: { a: [1n] } } }],
    ['toolFactories', 'expected tool factories by name, got array', { toolFactories: [query] }],
    [
      'toolFactories["query"]',
      'expected a function that makes a tool of its arguments, got object',
      { toolFactories: { query: query() } },
    ],
  ])('%s: %s', (field, problem, durable) => {
    const refused = refusal(() => shop(durable as AppDurableOptions));
    expect(refused).toMatchObject({ owner: 'App "shop"', field: `durable.${field}` });
    expect(refused.problem).toContain(problem);
  });
});

test("a message's run config wins over the app's, field by field [app.settings]", () => {
  const { durable } = shop({ runConfig: { maxLlmCalls: 5, streamingMode: 'sse' } });
  expect(runConfigOf(durable)).toEqual({ maxLlmCalls: 5, streamingMode: 'sse' });
  expect(runConfigOf(durable, { maxLlmCalls: 0 })).toEqual({ maxLlmCalls: 0, streamingMode: 'sse' });
  expect(runConfigOf(durable, { streamingMode: 'none' })).toEqual({ maxLlmCalls: 5, streamingMode: 'none' });
  expect(runConfigOf(DEFAULT_APP_SETTINGS, { maxLlmCalls: 3 })).toEqual({ maxLlmCalls: 3 });
  expect(runConfigOf(DEFAULT_APP_SETTINGS)).toEqual({});
  const paused = shop({ runConfig: { pauseOnToolCalls: true, customMetadata: { a: 1 } } }).durable;
  expect(runConfigOf(paused)).toEqual({ pauseOnToolCalls: true, customMetadata: { a: 1 } });
  expect(runConfigOf(paused, { pauseOnToolCalls: false, customMetadata: { b: 2 } })).toEqual({
    pauseOnToolCalls: false,
    customMetadata: { b: 2 },
  });
});
