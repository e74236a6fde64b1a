import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type {
  SingleAfterToolCallback,
  SingleBeforeToolCallback,
  SingleOnToolErrorCallback,
} from '../../src/agents/callbacks.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { getFunctionCalls, getFunctionResponses } from '../../src/events/event.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { never } from '../setup/own-model.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

interface Hooks {
  before?: SingleBeforeToolCallback;
  secondBefore?: SingleBeforeToolCallback;
  after?: SingleAfterToolCallback;
  secondAfter?: SingleAfterToolCallback;
  onError?: SingleOnToolErrorCallback;
  pluginBefore?: SingleBeforeToolCallback;
  pluginAfter?: SingleAfterToolCallback;
  pluginOnError?: SingleOnToolErrorCallback;
}

/** What each test has its callbacks and its tool do. */
let hooks: Hooks = {};
let execute: (args: Record<string, unknown>, context: Context) => unknown;
/** What has happened, in order. */
let log: string[] = [];

const parameters = z.object({ id: z.string() });
const run = async (args: Record<string, unknown>, context: Context) => {
  log.push(`runs ${context.attempt}`);
  return await execute(args, context);
};
const options = { description: 'd', parameters, execute: run } as const;
const retry = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };
const held = new HeldTool();
const tools = [
  tool({ ...options, name: 'look', retry }),
  tool({ ...options, name: 'look_inline', retry, execution: 'inline' }),
  tool({ ...options, name: 'look_briefly', retry, timeout: '300ms' }),
  tool({ ...options, name: 'pay', idempotent: false, timeout: '300ms' }),
  tool({ ...options, name: 'remember', needsTranscript: true }),
  held.tool(),
];

const agent = new LlmAgent({
  name: 'support',
  model: 'gemini-2.5-flash',
  tools,
  beforeToolCallback: [(call) => hooks.before?.(call), (call) => hooks.secondBefore?.(call)],
  afterToolCallback: [(call) => hooks.after?.(call), (call) => hooks.secondAfter?.(call)],
  onToolErrorCallback: (call) => hooks.onError?.(call),
});
const plain = new LlmAgent({ name: 'plain', model: 'gemini-2.5-flash', tools });

class Watch extends BasePlugin {
  override async beforeToolCallback({ tool, toolArgs: args, toolContext: context }: PluginCall) {
    return hooks.pluginBefore?.({ tool, args, context });
  }
  override async afterToolCallback({ tool, toolArgs, toolContext, result }: PluginCall & { result: Answer }) {
    return hooks.pluginAfter?.({ tool, args: toolArgs, context: toolContext, response: result });
  }
  override async onToolErrorCallback({ tool, toolArgs, toolContext, error }: PluginCall & { error: Error }) {
    return hooks.pluginOnError?.({ tool, args: toolArgs, context: toolContext, error });
  }
}
type Answer = Record<string, unknown>;
type PluginCall = Parameters<BasePlugin['beforeToolCallback']>[0];

const app = new App({ name: 'watched', rootAgent: agent, plugins: [new Watch('watch')] });

let environment: TurnEnvironment;
beforeAll(async () => {
  const apps = [app, new App({ name: 'test', rootAgent: agent })];
  environment = await openTurnEnvironment({ agents: [plain], apps });
});
beforeEach(() => {
  hooks = {};
  log = [];
  execute = ({ id }) => ({ seen: id });
  held.hold();
});
afterAll(() => environment.close());

const ran = async (name: string, more: { app?: string; agent?: string } = {}): Promise<RanTurn> => {
  environment.gemini.reset(stepCalls([[{ name, args: { id: 'A-1' } }]]));
  return await environment.run({ message: 'go', agent: 'support', ...more });
};
const responsesOf = (events: readonly StoredEvent[]) =>
  events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);
const responseOf = ({ events }: RanTurn) => responsesOf(events)[0];
const deltaOf = ({ events }: RanTurn) =>
  events.find(({ kind }) => kind === 'responses')?.event.actions.stateDelta;

describe('callbacks of a call', () => {
  test('rewrite its arguments, and not what the model said; what they write is kept [callback.tool]', async () => {
    hooks.before = ({ args, context }) => {
      args.id = `${args.id}!`;
      context.state.set('before', true);
      return undefined;
    };
    hooks.after = ({ args, context, tool: { name } }) => {
      context.state.set('after', `${name} ${args.id} ${context.functionCallId}`);
      return undefined;
    };
    const turn = await ran('look');
    expect(responseOf(turn)).toEqual({ seen: 'A-1!' });
    const [asked] = turn.events.flatMap(({ event }) => getFunctionCalls(event));
    expect(asked).toMatchObject({ name: 'look', args: { id: 'A-1' } });
    expect(deltaOf(turn)).toEqual({ before: true, after: `look A-1! ${asked?.id}` });
  });

  test('answer in the tool’s place: the first answer wins, after-callbacks see it [callback.tool]', async () => {
    hooks.before = () => {
      log.push('before');
      return undefined;
    };
    hooks.secondBefore = () => ({ cached: [1] });
    hooks.after = ({ response }) => {
      log.push(`after ${JSON.stringify(response)}`);
      return undefined;
    };
    hooks.secondAfter = ({ response }) => ({ ...response, checked: true });
    const turn = await ran('look');
    expect(responseOf(turn)).toEqual({ cached: [1], checked: true });
    expect(log).toEqual(['before', 'after {"cached":[1]}']);
  });

  test('come after those of plugins, which are not asked once one has answered [callback.tool] [plugin.hooks]', async () => {
    const says = (word: string) => () => {
      log.push(word);
      return undefined;
    };
    const fails = () => {
      throw new Error('gone');
    };
    execute = fails;
    hooks = {
      pluginBefore: says('plugin before'),
      before: says('before'),
      pluginOnError: says('plugin error'),
      onError: says('error'),
      pluginAfter: says('plugin after'),
      after: says('after'),
    };
    await ran('look', { app: 'watched' });
    const before = ['plugin before', 'before'];
    const last = ['plugin error', 'error', 'plugin after', 'after'];
    expect(log).toEqual([...before, 'runs 1', ...before, 'runs 2', ...last]);
    log = [];
    hooks.pluginBefore = () => ({ by: 'plugin' });
    hooks.pluginAfter = ({ response }) => ({ after: response });
    expect(responseOf(await ran('look', { app: 'watched' }))).toEqual({ after: { by: 'plugin' } });
    expect(log).toEqual([]);
  });

  test.each(someOf(['look', 'look_inline']))(
    '%s: run before each attempt, and on the settled outcome once; the failed attempts’ writes are lost [callback.tool]',
    async (name) => {
      execute = (_args, { state, attempt }) => {
        state.set('tool', attempt);
        throw new Error(`not there ${attempt}`);
      };
      hooks.before = ({ args, context: { attempt } }) => {
        log.push(`before ${attempt} ${args.id}`);
        args.id = 'rewritten';
        return undefined;
      };
      hooks.onError = ({ error, args, context }) => {
        log.push(`error ${error.message} ${args.id}`);
        context.state.set('failures', 1);
        return { answer: 'try the other one' };
      };
      hooks.after = ({ response, context }) => {
        log.push(`after ${JSON.stringify(response)}`);
        context.state.set('after', true);
        return undefined;
      };
      const turn = await ran(name);
      expect(responseOf(turn)).toEqual({ answer: 'try the other one' });
      expect(deltaOf(turn)).toEqual({ failures: 1, after: true });
      expect(log).toEqual([
        'before 1 A-1',
        'runs 1',
        'before 2 A-1',
        'runs 2',
        `error Error in tool '${name}': not there 2 rewritten`,
        'after {"answer":"try the other one"}',
      ]);
    },
  );

  test('after-callbacks see an error that nobody has answered, and may replace it [callback.tool]', async () => {
    execute = () => {
      throw Object.assign(new Error('no such order'), { retryable: false });
    };
    hooks.onError = () => undefined;
    hooks.after = ({ response }) => ({ result: `told: ${response.error}` });
    expect(responseOf(await ran('look'))).toEqual({ result: "told: Error in tool 'look': no such order" });
    delete hooks.after;
    expect(responseOf(await ran('look'))).toEqual({ error: "Error in tool 'look': no such order" });
  });

  if (isDeep) {
    test('before-callbacks that throw are tried again like their tool, and then its failure [callback.tool]', async () => {
      hooks.before = ({ context: { attempt } }) => {
        throw new Error(`denied ${attempt}`);
      };
      hooks.onError = ({ error }) => {
        log.push(`${(error as Error & { code: string }).code}: ${error.message}`);
        return undefined;
      };
      expect(responseOf(await ran('look'))).toEqual({
        error: 'beforeToolCallback[0] of agent "support" failed: denied 2',
      });
      expect(log).toEqual([
        'HOLDFAST_CALLBACK_FAILED: beforeToolCallback[0] of agent "support" failed: denied 2',
      ]);
      hooks.before = ({ context: { attempt } }) => {
        if (attempt === 1) throw new Error('busy');
        return undefined;
      };
      expect(responseOf(await ran('look'))).toEqual({ seen: 'A-1' });
    });
  }

  test('after-callbacks that throw don’t have the tool run again [callback.tool]', async () => {
    execute = (_args, { state }) => {
      state.set('tool', true);
      return {};
    };
    hooks.secondAfter = () => {
      log.push('after');
      throw new Error('no disk');
    };
    hooks.onError = () => {
      log.push('error');
      return undefined;
    };
    const turn = await ran('look');
    expect(responseOf(turn)).toEqual({ error: 'afterToolCallback[1] of agent "support" failed: no disk' });
    expect(log).toEqual(['runs 1', 'after']);
    expect(deltaOf(turn)).toEqual({});
  });

  test('error callbacks that throw have the last word; a plugin is named as ADK names it [callback.tool] [plugin.hooks]', async () => {
    execute = () => {
      throw Object.assign(new Error('gone'), { retryable: false });
    };
    hooks.onError = () => {
      throw new Error('pager is off');
    };
    expect(responseOf(await ran('look'))).toEqual({
      error: 'onToolErrorCallback of agent "support" failed: pager is off',
    });
    hooks.pluginAfter = () => {
      throw new Error('no disk');
    };
    delete hooks.onError;
    expect(responseOf(await ran('look', { app: 'watched' }))).toEqual({
      error: "Error in plugin 'watch' during 'afterToolCallback' callback: Error: no disk",
    });
  });

  const loop: Record<string, unknown> = {};
  loop.self = loop;
  test.each<[string, unknown, string]>([
    ['a function', { call: () => 1 }, 'function'],
    ['a bigint', { n: 1n }, 'bigint'],
    ['a cycle', loop, 'refers back'],
  ])('%s as an answer is a clear error, and poisons nothing [callback.tool]', async (_, answer, problem) => {
    hooks.after = () => answer as Record<string, unknown>;
    const { error } = (await ran('look').then(responseOf)) as { error: string };
    expect(error).toMatch(
      /^afterToolCallback\[0\] of agent "support" failed: the result can't be sent as JSON/,
    );
    expect(error).toContain(problem);
    expect(log).toEqual(['runs 1']);
    delete hooks.after;
    hooks.before = () => answer as Record<string, unknown>;
    const refused = (await ran('look').then(responseOf)) as { error: string };
    expect(refused.error).toContain('beforeToolCallback[0] of agent "support" failed');
    expect(log).toEqual(['runs 1']);
  });

  test('what is no object as an answer is sent as a tool’s result is [callback.tool]', async () => {
    hooks.before = () => ['a'] as unknown as Record<string, unknown>;
    expect(responseOf(await ran('look'))).toEqual({ result: ['a'] });
    hooks.before = () => 0 as unknown as Record<string, unknown>;
    expect(responseOf(await ran('look'))).toEqual({ seen: 'A-1' });
  });

  if (isDeep) {
    test('that hang are waited for as long as the tool may take [callback.tool] [tool.timeout]', async () => {
      hooks.before = never;
      hooks.onError = ({ context }) => {
        log.push(`error ${context.attempt}`);
        return undefined;
      };
      expect(responseOf(await ran('look_briefly'))).toEqual({
        error: `beforeToolCallback of agent "support" failed: no answer for tool 'look_briefly' within 300 ms`,
      });
      expect(log).toEqual(['error 2']);
      hooks = { after: never };
      expect(responseOf(await ran('look_briefly'))).toEqual({
        error: `afterToolCallback of agent "support" failed: no answer for tool 'look_briefly' within 300 ms`,
      });
      expect(log).toEqual(['error 2', 'runs 1']);
    });
  }

  test('are told of an outcome that nobody knows [callback.tool] [tool.timeout]', async () => {
    execute = never;
    hooks.onError = ({ error }) => ({ code: (error as Error & { code: string }).code });
    expect(responseOf(await ran('pay'))).toEqual({ code: 'HOLDFAST_UNKNOWN_OUTCOME' });
    expect(log).toEqual(['runs 1']);
  });

  test('settle a call that was cancelled, by its own state and transcript [callback.tool] [steer.cancelCall]', async () => {
    environment.gemini.reset(
      stepCalls([[{ name: 'look', args: { id: 'A-1' } }], [{ name: 'hold', args: { x: 1 } }]]),
    );
    hooks.onError = ({ tool: { name }, args, context, error }) => {
      log.push(`${name} ${JSON.stringify(args)} ${error.message} ${(error as { code?: string }).code}`);
      const [first] = context.turnToolCalls;
      context.state.set('cancelled', `${first?.name} ${context.state.get('seen')}`);
      return undefined;
    };
    hooks.after = ({ response, context }) => {
      if ('error' in response) return { told: response.error };
      context.state.set('seen', 'yes');
      return undefined;
    };
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({ ...names, message: 'go', agent: 'support' });
    await held.begun();
    const order = { callKey: `${turn.invocationId}.2.0`, reason: 'too long', timeout: 60_000 };
    // An inline call is told to the workflow when it has run for a moment.
    await until(() => environment.client.cancelCall(names, order));
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    const events = await environment.store.sessions.readEvents(names);
    expect(responsesOf(events)).toEqual([{ seen: 'A-1' }, { told: 'cancelled: too long' }]);
    expect(events.findLast(({ kind }) => kind === 'responses')?.event.actions.stateDelta).toEqual({
      cancelled: 'look yes',
    });
    expect(log).toEqual(['runs 1', 'hold {"x":1} cancelled: too long HOLDFAST_UNSETTLED_CALL']);
  });

  test('hear nothing of a call that an interruption has cut off [callback.tool] [steer.interrupt]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'hold' }]]));
    hooks.after = () => ({ heard: true });
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({ ...names, message: 'go', agent: 'support' });
    await held.begun();
    await environment.client.interrupt(names, { timeout: 60_000 });
    expect(await turn.result()).toMatchObject({ status: 'interrupted' });
    expect(responsesOf(await environment.store.sessions.readEvents(names))).toEqual([
      { error: expect.stringContaining('cancelled') },
    ]);
  });
});

describe('the context of a call', () => {
  test('ends the invocation, and no model is asked any more [callback.tool] [turn.skipSummarization]', async () => {
    execute = (_args, { invocationContext }) => {
      invocationContext.endInvocation = true;
      return { done: true };
    };
    const turn = await ran('look', { agent: 'plain' });
    expect(turn.result).toMatchObject({ status: 'completed', usage: { modelCalls: 1 } });
    expect(turn.events.at(-1)).toMatchObject({ kind: 'responses' });
  });

  test('has the turn’s calls and events where its tool asks for them, or a callback may [tool.turnCalls]', async () => {
    const seen: unknown[] = [];
    execute = (_args, { turnToolCalls, invocationContext: { session } }) => {
      seen.push(
        turnToolCalls.map(({ name, args, response, failed, step }) => ({
          name,
          args,
          response,
          failed,
          step,
        })),
      );
      seen.push(session.events.map(({ author }) => author));
      return {};
    };
    const calls = ['look', 'remember'].map((name) => [{ name, args: { id: 'A-1' } }]);
    environment.gemini.reset(stepCalls(calls));
    const turn = await environment.run({ message: 'go', agent: 'plain' });
    const error = expect.stringContaining('needsTranscript: true');
    expect(responsesOf(turn.events)).toEqual([{ error }, {}]);
    const look = { name: 'look', args: { id: 'A-1' }, response: { error }, failed: true, step: 1 };
    expect(seen).toEqual([[look], ['user', 'plain', 'plain', 'plain']]);
    seen.length = 0;
    await environment.run({ message: 'go', agent: 'support' });
    expect(seen[0]).toEqual([]);
    expect(seen[2]).toMatchObject([{ name: 'look', response: {}, failed: false }]);
  });

  test('of an agent without callbacks costs no reading [callback.tool]', async () => {
    const { store } = environment;
    const reads = [
      vi.spyOn(store.sessions, 'readEvents'),
      vi.spyOn(store.turns, 'findCall'),
      vi.spyOn(store.turns, 'peekStep'),
    ];
    const writes = [vi.spyOn(store.turns, 'beginCall'), vi.spyOn(store.turns, 'settleCall')];
    environment.gemini.reset(stepCalls([[{ name: 'look', args: { id: 'A-1' } }]]));
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({ ...names, message: 'go', agent: 'plain' });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(reads.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
    expect(writes.map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    vi.restoreAllMocks();
  });
});
