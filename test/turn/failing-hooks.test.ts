import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Content } from '../../src/events/content.ts';
import type { Event } from '../../src/events/event.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import { BasePlanner } from '../../src/planners/planners.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { type Callbacks, callingBack } from '../setup/called-back.ts';
import { never, OwnModel, saying } from '../setup/own-model.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const model = new OwnModel();
let callbacks: Callbacks = {};
let hooks: {
  message?: () => Promise<Content | undefined>;
  event?: (event: Event) => unknown;
  completed?: () => Promise<void>;
  ran?: () => Promise<void>;
} = {};

class Hooked extends BasePlugin {
  override async onUserMessageCallback() {
    return await hooks.message?.();
  }
  override async onEventCallback({ event }: { event: Event }) {
    return (await hooks.event?.(event)) as Event | undefined;
  }
  override async onToolCallCompleted() {
    await hooks.completed?.();
  }
  override async afterRunCallback() {
    await hooks.ran?.();
  }
}

class Unplanned extends BasePlanner {
  override buildPlanningInstruction() {
    return undefined;
  }
  override processPlanningResponse() {
    return Promise.resolve([]) as never;
  }
}

const quick = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };
const own = { ...callingBack(() => callbacks), model, modelRetry: quick };
const last = tool({
  name: 'last',
  description: 'ends the turn',
  execute: (_args, { actions }) => {
    actions.skipSummarization = true;
    return { done: true };
  },
});
const count = tool({ name: 'count', description: 'counts', execute: () => ({ counted: true }) });
const agents = [
  new LlmAgent({ ...own, name: 'agent' }),
  new LlmAgent({ ...own, name: 'hasty', modelTimeout: 250, modelRetry: { ...quick, maximumAttempts: 1 } }),
  new LlmAgent({ ...own, name: 'lasting', modelTimeout: 250 }),
  new LlmAgent({
    ...{ name: 'untold', model, modelTimeout: 250, modelRetry: { ...quick, maximumAttempts: 1 } },
    instruction: () => never(),
  }),
  new LlmAgent({ name: 'unplanned', model, planner: new Unplanned() }),
];
const app = new App({
  name: 'hooked',
  rootAgent: new LlmAgent({ name: 'plugged', model, tools: [last, count], modelRetry: quick }),
  plugins: [new Hooked('hooked')],
});

const calling = (name: string, id = 'call-1') => ({
  content: { role: 'model', parts: [{ functionCall: { name, args: {}, id } }] },
});

describe('user code that fails', () => {
  let environment: TurnEnvironment;
  const warnings: string[] = [];

  beforeAll(async () => {
    const logger = { warn: (message: string) => warnings.push(message) };
    environment = await openTurnEnvironment({ agents, apps: [app], logger });
  });
  beforeEach(() => {
    model.respond = async () => saying('fine');
    model.asked = 0;
    callbacks = {};
    hooks = {};
    warnings.length = 0;
  });
  afterAll(() => environment.close());

  const run = (agent: string, sessionId: string = randomUUID()) =>
    environment.run({
      message: 'go',
      sessionId,
      ...(agent === 'plugged' ? { app: 'hooked' } : { agent }),
    });
  const expectGoesOn = async (agent: string, sessionId: string) => {
    callbacks = {};
    hooks = {};
    model.respond = async () => saying('still here');
    expect((await run(agent, sessionId)).result).toMatchObject({ status: 'completed', text: 'still here' });
  };

  const boom = () => {
    throw new Error('boom');
  };
  const final = Object.assign(new Error('never again'), { retryable: false });

  test.each<[keyof Callbacks, number, number]>([
    ['beforeAgent', 0, 0],
    ['beforeModel', 0, 0],
    ['afterModel', 1, 1],
    ['onModelError', 2, 1],
  ])(
    'a throwing %s callback is the turn’s error, the next turn works [callback.model]',
    async (callback, asked, modelCalls) => {
      if (callback === 'onModelError') {
        model.respond = async () => {
          throw new ModelError({ kind: 'unavailable', message: 'down' });
        };
      }
      let called = 0;
      callbacks = { [callback]: () => ++called && boom() };
      const sessionId = randomUUID();
      const { result } = await run('agent', sessionId);
      expect(result).toMatchObject({
        status: 'failed',
        error: {
          code: 'HOLDFAST_CALLBACK_FAILED',
          message: expect.stringContaining(`${callback}Callback of agent "agent" failed: boom`),
        },
        usage: { modelCalls },
      });
      expect(model.asked).toBe(asked);
      expect(called).toBe(callback.startsWith('before') ? 2 : 1);
      await expectGoesOn('agent', sessionId);
    },
  );

  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  test.each<[keyof Callbacks, string, unknown]>([
    ['beforeAgent', 'text', 'hi'],
    ['beforeAgent', 'a bigint in it', { parts: [{ text: 'x' }], n: 1n }],
    ['beforeModel', 'a function', () => 1],
    ['beforeModel', 'a content', { parts: [{ text: 'x' }] }],
    ['afterModel', 'a cycle', { content: { parts: [cycle] } }],
    ['afterModel', 'parts that are no objects', { content: { parts: [1] } }],
    ['afterAgent', 'a list', [1]],
  ])(
    'a %s callback that returns %s is asked once and named, nothing of it is kept [callback.model]',
    async (callback, _what, value) => {
      let called = 0;
      callbacks = { [callback]: () => ++called && value };
      const sessionId = randomUUID();
      const { result } = await run('agent', sessionId);
      expect(result.error).toMatchObject({
        code: 'HOLDFAST_CALLBACK_FAILED',
        message: expect.stringContaining(`${callback}Callback of agent "agent" failed: `),
      });
      expect(called).toBe(1);
      await expectGoesOn('agent', sessionId);
    },
  );

  test.each(someOf(['beforeAgent', 'beforeModel', 'afterModel', 'afterAgent'] as const))(
    'a %s callback that never answers is waited for no longer than modelTimeout [callback.model]',
    async (callback) => {
      callbacks = { [callback]: () => never() };
      const { result } = await run('hasty');
      expect(result).toMatchObject({
        status: 'failed',
        error: {
          code: 'HOLDFAST_CALLBACK_FAILED',
          message: `${callback}Callback of agent "hasty" failed: no answer within 250 ms (modelTimeout of the agent hasty)`,
        },
      });
    },
  );

  test('an instruction that never comes is no fault of the model [instruction.provider]', async () => {
    const { result } = await run('untold');
    expect(result.error).toEqual({
      code: 'HOLDFAST_CALLBACK_FAILED',
      message:
        'an instruction, a toolset or a request processor of agent "untold" failed: no answer within 250 ms ' +
        '(modelTimeout of the agent untold)',
    });
    expect(model.asked).toBe(0);
  });

  test('a planner that returns no parts is named [agent.planner]', async () => {
    expect((await run('unplanned')).result.error).toEqual({
      code: 'HOLDFAST_CALLBACK_FAILED',
      message:
        'planner of agent "unplanned" failed: processPlanningResponse must return a list of parts or undefined, returned a promise',
    });
  });

  test('an answer whose callbacks never come back is not asked for again [callback.model]', async () => {
    model.respond = async () => ({ ...saying('half'), partial: true, usageMetadata: { totalTokenCount: 3 } });
    callbacks = { afterModel: () => never() };
    const { result } = await run('lasting');
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'HOLDFAST_CALLBACK_FAILED', message: expect.stringContaining('afterModelCallback') },
      usage: { modelCalls: 1, totalTokens: 3 },
    });
    expect(model.asked).toBe(1);
  });

  test('state that can’t be stored is refused by name, the next turn works [callback.model]', async () => {
    callbacks = {
      beforeModel: ({ context }) => {
        Object.assign(context.actions.stateDelta, { paid: 1n });
        return undefined;
      },
    };
    const sessionId = randomUUID();
    expect((await run('agent', sessionId)).result.error).toMatchObject({
      code: 'HOLDFAST_CALLBACK_FAILED',
      message: expect.stringContaining('context.actions.stateDelta: paid: JSON has no bigint'),
    });
    await expectGoesOn('agent', sessionId);
  });

  test('a plugin that fails on the message: it is stored, no model is asked, the turn fails [plugin.hooks]', async () => {
    hooks = { message: () => Promise.reject(final) };
    const sessionId = randomUUID();
    const { result, events } = await run('plugged', sessionId);
    const error = {
      code: 'HOLDFAST_PLUGIN_FAILED',
      message: "Error in plugin 'hooked' during 'onUserMessageCallback' callback: Error: never again",
    };
    expect(result).toMatchObject({ status: 'failed', error, usage: { modelCalls: 0 } });
    expect(model.asked).toBe(0);
    expect(events.map(({ kind, event }) => [kind, event.content?.parts?.[0]?.text])).toEqual([
      ['message', 'go'],
      ['error', undefined],
    ]);
    await expectGoesOn('plugged', sessionId);
  });

  test('a plugin that fails on the model’s event: it is not stored, its usage counts [plugin.hooks]', async () => {
    hooks = { event: ({ content }) => (content?.role === 'model' ? boom() : undefined) };
    const sessionId = randomUUID();
    const { result, events } = await run('plugged', sessionId);
    expect(result).toMatchObject({
      status: 'failed',
      error: {
        code: 'HOLDFAST_PLUGIN_FAILED',
        message: "Error in plugin 'hooked' during 'onEventCallback' callback: Error: boom",
      },
      usage: { modelCalls: 1 },
    });
    expect(events.map(({ kind }) => kind)).toEqual(['message', 'error']);
    expect(model.asked).toBe(1);
    await expectGoesOn('plugged', sessionId);
  });

  test('a plugin that fails on an error’s event leaves it [plugin.hooks]', async () => {
    model.respond = async () => {
      throw new ModelError({ kind: 'bad_request', message: 'bad' });
    };
    hooks = { event: boom };
    const { result } = await run('plugged');
    expect(result.error?.code).toBe('HOLDFAST_MODEL_BAD_REQUEST');
    expect(warnings).toContainEqual(expect.stringContaining("'onEventCallback' callback: Error: boom"));
  });

  test.each(someOf(['count', 'last']))(
    'a plugin that fails on the responses of %s: they are stored, the turn fails [plugin.hooks]',
    async (name) => {
      model.respond = async () => calling(name);
      hooks = {
        event: ({ content }) => (content?.role === 'user' ? Promise.reject(final) : undefined),
      };
      const sessionId = randomUUID();
      const { result, events } = await run('plugged', sessionId);
      expect(result).toMatchObject({
        status: 'failed',
        error: { code: 'HOLDFAST_PLUGIN_FAILED' },
        usage: { modelCalls: 1 },
      });
      expect(events.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses', 'error']);
      await expectGoesOn('plugged', sessionId);
    },
  );

  test.each<[string, (event: Event) => unknown, string]>([
    [
      'spoils',
      ({ content }) => Object.assign(content?.parts?.[0] ?? {}, { big: 1n }) && undefined,
      'parts[0].big',
    ],
    [
      'gives a wrong error code to',
      (event) => ({ ...event, errorCode: 500 }),
      'errorCode: expected a string',
    ],
  ])(
    'a plugin that %s responses is named, they are stored as they were [plugin.hooks]',
    async (_what, change, problem) => {
      for (const name of ['count', 'last']) {
        model.respond = async () => calling(name);
        hooks = { event: (event) => (event.content?.role === 'user' ? change(event) : undefined) };
        const sessionId = randomUUID();
        const { result, events } = await run('plugged', sessionId);
        expect(result.error).toMatchObject({
          code: 'HOLDFAST_PLUGIN_FAILED',
          message: expect.stringContaining(problem),
        });
        expect(events.map(({ kind }) => kind)).toEqual(['message', 'model', 'responses', 'error']);
        expect(events[2]?.event.content?.parts?.[0]).not.toHaveProperty('big');
        await expectGoesOn('plugged', sessionId);
      }
    },
  );

  test('an error code and any name that a plugin gives to responses are theirs, the turn goes on [plugin.hooks]', async () => {
    model.respond = async ({ contents }) => (contents.length === 1 ? calling('count') : saying('counted'));
    hooks = {
      event: (event) =>
        event.content?.role === 'user' ? { ...event, errorCode: 'LOW', author: 'x\0\ud800' } : undefined,
    };
    const { result, events } = await run('plugged');
    expect(result).toMatchObject({ status: 'completed' });
    expect(events[2]?.event).toMatchObject({ errorCode: 'LOW', author: 'x\ufffd\ufffd' });
  });

  test('fields that are null are not there, wherever they come from [callback.model]', async () => {
    const nothing = { functionCall: null, functionResponse: null, executableCode: null };
    const part = { text: 'hi', ...nothing } as never;
    model.respond = async () => ({ content: { role: 'model', parts: [part] }, errorCode: null });
    const sessionId = randomUUID();
    expect((await run('agent', sessionId)).result.text).toBe('hi');
    callbacks = { beforeAgent: () => ({ role: 'model', parts: [part] }) };
    const { events } = await run('agent', sessionId);
    const said = events.filter(({ event }) => event.author === 'agent');
    expect(said.map(({ event }) => event.content?.parts)).toEqual([[{ text: 'hi' }], [{ text: 'hi' }]]);
    await expectGoesOn('agent', sessionId);
  });

  test('a worker without the agent opens no step: it could not ask the agent’s plugins [plugin.hooks]', async () => {
    let heard = 0;
    hooks = {
      message: async () => {
        heard += 1;
        return undefined;
      },
    };
    const names = { app: 'hooked', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({ ...names, message: 'go', agent: 'elsewhere' });
    const workflow = environment.temporal.workflow.getHandle(turn.workflowId, turn.runId);
    const attempts = async () => (await workflow.describe()).raw.pendingActivities?.[0]?.attempt;
    await expect.poll(attempts).toBeGreaterThan(1);
    expect(await environment.store.sessions.readEvents(names)).toEqual([]);
    expect(heard).toBe(0);
    await workflow.terminate();
  });

  test.each<[string, unknown]>([
    ['drops a call', []],
    ['renames it', [{ functionCall: { name: 'other', args: {}, id: 'call-1' } }]],
    ['gives it another id', [{ functionCall: { name: 'count', args: {}, id: 'call-2' } }]],
    ['adds one', [...calling('count').content.parts, ...calling('count', 'call-2').content.parts]],
    ['makes its parts text', 'hi'],
  ])('an event whose plugin %s is refused, the session goes on [plugin.hooks]', async (_what, parts) => {
    model.respond = async () => calling('count');
    hooks = {
      event: (event) =>
        event.content?.role === 'model' ? { ...event, content: { role: 'model', parts } } : undefined,
    };
    const sessionId = randomUUID();
    const { result, events } = await run('plugged', sessionId);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_PLUGIN_FAILED' } });
    expect(events.map(({ kind }) => kind)).toEqual(['message', 'error']);
    await expectGoesOn('plugged', sessionId);
  });

  test('what hears of a call’s end, or of the run’s, changes nothing by failing [plugin.hooks]', async () => {
    model.respond = async ({ contents }) => (contents.length === 1 ? calling('count') : saying('counted'));
    hooks = { completed: () => Promise.reject(final), ran: () => Promise.reject(final) };
    const { result } = await run('plugged');
    expect(result).toMatchObject({ status: 'completed', text: 'counted' });
    for (const hook of ['onToolCallCompleted', 'afterRunCallback']) {
      expect(warnings).toContainEqual(expect.stringContaining(`'${hook}' callback: Error: never again`));
    }
  });
});
