import { describe, expect, test } from 'vitest';
import type { Content } from '../../src/events/content.ts';
import { createEvent } from '../../src/events/event.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { PluginFailed, type PluginHook } from '../../src/plugins/plugin-failed.ts';
import { PluginManager } from '../../src/plugins/plugin-manager.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { callContextOf, contextOf, findOrder, recordOf, support } from './plugin-scene.ts';

class Asked extends BasePlugin {
  readonly #answer: () => unknown;
  readonly #asked: string[];

  constructor(name: string, asked: string[] = [], answer: () => unknown = () => undefined) {
    super(name);
    this.#asked = asked;
    this.#answer = answer;
  }

  async #ask<T>(hook: PluginHook): Promise<T> {
    this.#asked.push(`${this.name}.${hook}`);
    return (await this.#answer()) as T;
  }

  override onUserMessageCallback = () => this.#ask<undefined>('onUserMessageCallback');
  override beforeRunCallback = () => this.#ask<undefined>('beforeRunCallback');
  override onEventCallback = () => this.#ask<undefined>('onEventCallback');
  override afterRunCallback = () => this.#ask<void>('afterRunCallback');
  override beforeAgentCallback = () => this.#ask<undefined>('beforeAgentCallback');
  override afterAgentCallback = () => this.#ask<undefined>('afterAgentCallback');
  override beforeModelCallback = () => this.#ask<undefined>('beforeModelCallback');
  override afterModelCallback = () => this.#ask<undefined>('afterModelCallback');
  override onModelErrorCallback = () => this.#ask<undefined>('onModelErrorCallback');
  override beforeToolSelection = () => this.#ask<undefined>('beforeToolSelection');
  override beforeContextCompaction = () => this.#ask<void>('beforeContextCompaction');
  override afterContextCompaction = () => this.#ask<void>('afterContextCompaction');
  override beforeToolCallback = () => this.#ask<undefined>('beforeToolCallback');
  override afterToolCallback = () => this.#ask<undefined>('afterToolCallback');
  override onToolErrorCallback = () => this.#ask<undefined>('onToolErrorCallback');
  override onToolCallCompleted = () => this.#ask<void>('onToolCallCompleted');
}

const context = contextOf();
const { invocationContext } = context;
const userMessage: Content = { role: 'user', parts: [{ text: 'hi' }] };
const llmRequest: LlmRequest = { contents: [userMessage], toolsDict: {} };
const error = new Error('boom');
const call = { tool: findOrder, toolArgs: {}, toolContext: callContextOf('c1') };
const said: Content = { role: 'model', parts: [{ text: 'no' }] };
const params = {
  onUserMessageCallback: { invocationContext, userMessage },
  beforeRunCallback: { invocationContext },
  onEventCallback: { invocationContext, event: createEvent() },
  afterRunCallback: { invocationContext },
  beforeAgentCallback: { agent: support, callbackContext: context },
  afterAgentCallback: { agent: support, callbackContext: context },
  beforeModelCallback: { callbackContext: context, llmRequest },
  afterModelCallback: { callbackContext: context, llmResponse: {} },
  onModelErrorCallback: { callbackContext: context, llmRequest, error },
  beforeToolSelection: { callbackContext: context, tools: {} },
  beforeContextCompaction: { invocationContext, trigger: 'Auto' },
  afterContextCompaction: { invocationContext, trigger: 'Auto' },
  beforeToolCallback: call,
  afterToolCallback: { ...call, result: {} },
  onToolErrorCallback: { ...call, error },
  onToolCallCompleted: { call: recordOf(findOrder, {}), callbackContext: context },
} satisfies { [Hook in PluginHook]: Parameters<BasePlugin[Hook]>[0] };
const hooks = Object.keys(params) as (keyof typeof params)[];
const run = (manager: PluginManager, hook: PluginHook) =>
  manager.run(hook, params[hook] as Parameters<BasePlugin[typeof hook]>[0] as never);
const failureOf = (manager: PluginManager, hook: PluginHook) =>
  run(manager, hook).then(
    () => expect.unreachable(),
    (thrown: unknown) => thrown as PluginFailed,
  );

const ANSWERS: Partial<Record<PluginHook, unknown>> = {
  onUserMessageCallback: said,
  beforeRunCallback: said,
  onEventCallback: createEvent({ author: 'support', content: said }),
  beforeAgentCallback: said,
  afterAgentCallback: said,
  beforeModelCallback: { content: said },
  afterModelCallback: { content: said },
  onModelErrorCallback: { content: said },
  beforeToolSelection: { find_order: findOrder },
  beforeToolCallback: { found: false },
  afterToolCallback: { found: false },
  onToolErrorCallback: { found: false },
};

describe('PluginManager', () => {
  test.each(hooks)('%s: plugins are asked in their order until one answers [plugin.hooks]', async (hook) => {
    const asked: string[] = [];
    const answer = ANSWERS[hook];
    const manager = new PluginManager([
      new Asked('silent', asked),
      new Asked('null', asked, () => null),
      new Asked('answers', asked, () => answer),
      new Asked('late', asked, () => answer),
    ]);
    expect(await run(manager, hook)).toEqual(answer);
    const isNotice = answer === undefined;
    expect(asked).toEqual(
      ['silent', 'null', 'answers', ...(isNotice ? ['late'] : [])].map((name) => `${name}.${hook}`),
    );
  });

  test('only plugins that have a hook are asked: inherited, or assigned, from any copy of the package', async () => {
    class One extends BasePlugin {
      override async beforeModelCallback() {
        return { content: said };
      }
    }
    class Below extends One {}
    const assigned = new (class extends BasePlugin {})('assigned');
    assigned.afterRunCallback = async () => undefined;
    class OtherBase {
      name = 'other';
      async beforeModelCallback(): Promise<undefined> {}
      async onEventCallback(): Promise<undefined> {}
    }
    class OfOther extends OtherBase {
      override async onEventCallback(): Promise<undefined> {}
    }
    const other = Object.assign(new OfOther(), {
      [Symbol.for('holdfast.basePlugin')]: true,
    }) as unknown as BasePlugin;
    const has = (plugin: BasePlugin) => {
      const manager = new PluginManager([plugin]);
      return hooks.filter((hook) => manager.has(hook));
    };
    expect(has(new Below('below'))).toEqual(['beforeModelCallback']);
    expect(has(assigned)).toEqual(['afterRunCallback']);
    expect(has(other)).toEqual(['onEventCallback']);
    expect(has(new (class extends BasePlugin {})('idle'))).toEqual([]);
    expect(new PluginManager().has('beforeModelCallback')).toBe(false);
    expect(await run(new PluginManager([other]), 'beforeToolCallback')).toBeUndefined();
  });

  test('what a plugin throws names it and the hook, and says whether another attempt may help [plugin.hooks]', async () => {
    const declined = new ToolError('declined', { retryable: false });
    const thrower = (thrown: unknown) =>
      new PluginManager([
        new Asked('wild', [], () => {
          throw thrown;
        }),
      ]);
    const failed = await failureOf(thrower(declined), 'beforeToolCallback');
    expect(failed).toBeInstanceOf(PluginFailed);
    expect(failed).toMatchObject({
      code: 'HOLDFAST_PLUGIN_FAILED',
      message: "Error in plugin 'wild' during 'beforeToolCallback' callback: ToolError: declined",
      plugin: 'wild',
      hook: 'beforeToolCallback',
      retryable: false,
      cause: declined,
    });
    expect(await failureOf(thrower(error), 'onEventCallback')).toMatchObject({
      retryable: true,
      cause: error,
    });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const odd of ['text', 7n, null, Object.create(null), { message: 'x' }, proxy]) {
      const { message } = await failureOf(thrower(odd), 'beforeRunCallback');
      expect(message).toMatch(/^Error in plugin 'wild' during 'beforeRunCallback' callback: \S/);
    }
  });

  const CONTENT = /expected a Content \(\{ role, parts \}\)/;
  test.each<[PluginHook, unknown, RegExp]>([
    ['onUserMessageCallback', 'hello', /expected a Content .* got string/],
    ['beforeRunCallback', { content: said }, /got an object whose parts are undefined/],
    ['beforeAgentCallback', { parts: [null] }, /got parts\[0\] that is null/],
    ['afterAgentCallback', { role: 1, parts: [] }, /got a role that is number/],
    ['onUserMessageCallback', { parts: [{ text: 1n }] }, /as JSON at parts\[0\]\.text: JSON has no bigint/],
    ['onEventCallback', [said], /expected an Event .* got array/],
    ['onEventCallback', { id: 'x', content: 'hello' }, CONTENT],
    ['beforeModelCallback', said, /expected an LlmResponse .* got a Content: return \{ content \}/],
    ['afterModelCallback', 'fine', /expected an LlmResponse .* got string/],
    ['onModelErrorCallback', { content: { parts: 'x' } }, CONTENT],
    ['beforeToolSelection', [findOrder], /expected an object of tools by name.* got array/],
    ['beforeToolSelection', { find_order: () => 1 }, /got function as "find_order"/],
    ['beforeToolCallback', { done: () => 1 }, /as JSON at done: JSON has no function/],
    ['afterToolCallback', { count: 1n }, /as JSON at count: JSON has no bigint/],
  ])('%s: an answer that it has no use for is refused, %#', async (hook, answer, problem) => {
    const failed = await failureOf(new PluginManager([new Asked('odd', [], () => answer)]), hook);
    expect(failed).toBeInstanceOf(PluginFailed);
    expect(failed.message).toMatch(problem);
    expect(failed).toMatchObject({ plugin: 'odd', hook, retryable: false });
  });

  test('a circle and a getter that throws are refused too; what is kept is a copy', async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const answers = (answer: unknown) => new PluginManager([new Asked('odd', [], () => answer)]);
    expect((await failureOf(answers(circle), 'beforeToolCallback')).message).toMatch(/at self: refers back/);
    const trap = Object.defineProperty({}, 'parts', {
      enumerable: true,
      get: () => {
        throw error;
      },
    });
    expect((await failureOf(answers(trap), 'beforeRunCallback')).message).toMatch(/parts: reading it threw/);
    const own = { at: new Date(0), list: [1] };
    const kept = await run(answers(own), 'beforeToolCallback');
    own.list.push(2);
    expect(kept).toEqual({ at: '1970-01-01T00:00:00.000Z', list: [1] });
  });

  test('of a hook without an answer every plugin hears, whatever another one throws', async () => {
    const asked: string[] = [];
    const throws = (name: string, thrown: unknown) =>
      new Asked(name, asked, () => {
        throw thrown;
      });
    const one = new PluginManager([throws('first', error), new Asked('second', asked)]);
    expect(await failureOf(one, 'onToolCallCompleted')).toMatchObject({ plugin: 'first', cause: error });
    expect(asked).toEqual(['first.onToolCallCompleted', 'second.onToolCallCompleted']);
    const failed = await failureOf(
      new PluginManager([throws('first', error), throws('second', 'late')]),
      'afterRunCallback',
    );
    expect(failed.message).toBe(
      "Error in plugin 'first' during 'afterRunCallback' callback: Error: boom; " +
        "Error in plugin 'second' during 'afterRunCallback' callback: late",
    );
  });

  test('close reaches all plugins, the last first', async () => {
    const closed: string[] = [];
    class Closing extends BasePlugin {
      override async close() {
        closed.push(this.name);
        if (this.name === 'b') throw error;
      }
    }
    const manager = new PluginManager(['a', 'b', 'c'].map((name) => new Closing(name)));
    await expect(manager.close()).rejects.toThrow("Error in plugin 'b' during 'close' callback: Error: boom");
    expect(closed).toEqual(['c', 'b', 'a']);
  });

  test('plugins are registered and found by name, and asked by the names of ADK [plugin.hooks]', async () => {
    const manager = new PluginManager();
    expect(manager.hasPlugins).toBe(false);
    expect(manager.has('beforeModelCallback')).toBe(false);
    const asked: string[] = [];
    const plugin = new Asked('p', asked);
    manager.registerPlugin(plugin);
    expect(manager.hasPlugins).toBe(true);
    expect(manager.getPlugin('p')).toBe(plugin);
    expect(manager.getPlugin('q')).toBeUndefined();
    expect(() => manager.registerPlugin(plugin)).toThrow("Plugin with name 'p' already registered.");
    expect(manager.plugins).toEqual([plugin]);
    await manager.runOnUserMessageCallback(params.onUserMessageCallback);
    await manager.runBeforeRunCallback(params.beforeRunCallback);
    await manager.runOnEventCallback(params.onEventCallback);
    await manager.runAfterRunCallback(params.afterRunCallback);
    await manager.runBeforeAgentCallback(params.beforeAgentCallback);
    await manager.runAfterAgentCallback(params.afterAgentCallback);
    await manager.runBeforeModelCallback(params.beforeModelCallback);
    await manager.runAfterModelCallback(params.afterModelCallback);
    await manager.runOnModelErrorCallback(params.onModelErrorCallback);
    await manager.runBeforeToolSelection(params.beforeToolSelection);
    await manager.runBeforeToolCallback(params.beforeToolCallback);
    await manager.runBeforeContextCompaction(params.beforeContextCompaction);
    await manager.runAfterContextCompaction(params.afterContextCompaction);
    await manager.runAfterToolCallback(params.afterToolCallback);
    await manager.runOnToolErrorCallback(params.onToolErrorCallback);
    expect(asked.sort()).toEqual(
      hooks
        .filter((hook) => hook !== 'onToolCallCompleted')
        .map((hook) => `p.${hook}`)
        .sort(),
    );
  });

  test('a hook that an option has left undefined is none; what is no function is refused', async () => {
    class Optional extends BasePlugin {
      override beforeModelCallback: BasePlugin['beforeModelCallback'];
      constructor(before: unknown) {
        super('optional');
        this.beforeModelCallback = before as BasePlugin['beforeModelCallback'];
      }
    }
    const manager = new PluginManager([new Optional(undefined), new Asked('p')]);
    expect(await manager.run('beforeModelCallback', params.beforeModelCallback)).toBeUndefined();
    expect(new PluginManager([new Optional(undefined)]).has('beforeModelCallback')).toBe(false);
    expect(new PluginManager([new Optional(async () => undefined)]).has('beforeModelCallback')).toBe(true);
    expect(() => new PluginManager([new Optional({})])).toThrow(
      'PluginManager: plugins[0]: beforeModelCallback: expected a function, got object',
    );
  });

  test('what is no plugin is refused, one of @google/adk by its import', () => {
    const foreign = { name: 'f', beforeRunCallback: () => {}, onUserMessageCallback: () => {} };
    const refused = (plugin: unknown) => () => new PluginManager([plugin as BasePlugin]);
    expect(refused(foreign)).toThrow(
      "PluginManager: plugins[0]: a plugin of @google/adk; import its class, or BasePlugin, from 'holdfast' instead",
    );
    expect(refused(undefined)).toThrow('plugins[0]: expected a plugin, got undefined');
    expect(refused(BasePlugin)).toThrow('plugins[0]: expected a plugin, got function');
    expect(refused(new Asked(''))).toThrow('plugins[0]: a plugin without a name');
    expect(() => new PluginManager('x' as unknown as BasePlugin[])).toThrow(
      'plugins: expected a list of plugins, got string',
    );
  });
});
