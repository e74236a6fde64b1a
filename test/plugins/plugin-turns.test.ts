import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Content } from '../../src/events/content.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { GlobalInstructionPlugin } from '../../src/plugins/global-instruction-plugin.ts';
import { LoggingPlugin } from '../../src/plugins/logging-plugin.ts';
import type { PluginParams } from '../../src/plugins/plugin-failed.ts';
import { ReflectAndRetryToolPlugin } from '../../src/plugins/reflect-and-retry-tool-plugin.ts';
import { RepetitionGuardPlugin } from '../../src/plugins/repetition-guard-plugin.ts';
import { SaveFilesAsArtifactsPlugin } from '../../src/plugins/save-files-as-artifacts-plugin.ts';
import { ToolAuditPlugin, type ToolAuditRecord } from '../../src/plugins/tool-audit-plugin.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';
import { recordingLogger } from './plugin-scene.ts';

const ran: Record<string, number> = {};
const lookUp = tool({
  name: 'look_up',
  description: 'looks up',
  execute: (_args, context) => {
    ran[context.sessionId] = (ran[context.sessionId] ?? 0) + 1;
    return { status: 'shipped' };
  },
});
const breaks = tool({
  name: 'breaks',
  description: 'fails',
  retry: { maximumAttempts: 1 },
  execute: () => {
    throw new TypeError('no such order');
  },
});
const readVault = tool({
  name: 'read_vault',
  description: 'reads secrets',
  sensitive: true,
  execute: () => ({ secret: 'tulip' }),
});

const call = (name: string, args: Record<string, unknown> = { id: 'A-1' }) => [{ name, args }];
/** What the model calls, step by step, by the text of the message. */
const PLANS: Record<string, { name: string; args: Record<string, unknown> }[][]> = {
  'one call': [call('look_up')],
  'four equal calls': Array.from({ length: 4 }, () => call('look_up')),
  'five failures': Array.from({ length: 5 }, () => call('breaks')),
  'open the vault': [[...call('read_vault', { key: 'daffodil' }), ...call('look_up')]],
};

/** Writes down each hook that it is asked. */
class Watches extends BasePlugin {
  readonly hooks: string[] = [];
  closed = 0;

  #saw(hook: string): undefined {
    this.hooks.push(hook);
  }

  override onUserMessageCallback = async () => this.#saw('message');
  override beforeRunCallback = async () => this.#saw('before run');
  override onEventCallback = async ({ event }: PluginParams<'onEventCallback'>) =>
    this.#saw(`event of ${event.author}: ${Object.keys(event.content?.parts?.[0] ?? {})[0]}`);
  override afterRunCallback = async () => this.#saw('after run');
  override beforeAgentCallback = async () => this.#saw('before agent');
  override afterAgentCallback = async () => this.#saw('after agent');
  override beforeModelCallback = async () => this.#saw('before model');
  override afterModelCallback = async () => this.#saw('after model');
  override beforeToolSelection = async () => this.#saw('tool selection');
  override beforeToolCallback = async () => this.#saw('before tool');
  override afterToolCallback = async () => this.#saw('after tool');
  override onToolErrorCallback = async () => this.#saw('tool error');
  override onToolCallCompleted = async () => this.#saw('call completed');
  override close = async () => void this.closed++;
}

class Replaces extends BasePlugin {
  override async onUserMessageCallback({ userMessage }: PluginParams<'onUserMessageCallback'>) {
    return { ...userMessage, parts: [{ text: `${userMessage.parts?.[0]?.text}, said the plugin` }] };
  }
  override async onEventCallback({ event }: PluginParams<'onEventCallback'>) {
    return { ...event, id: 'mine', customMetadata: { seen: true } };
  }
}

class Answers extends BasePlugin {
  override async beforeModelCallback() {
    return { content: { role: 'model', parts: [{ text: 'the plugin answers' }] } };
  }
}

class Throws extends BasePlugin {
  override async afterRunCallback() {
    throw new Error('nobody listens');
  }
  override async onToolCallCompleted() {
    throw new Error('no audit today');
  }
}

class Rubbish extends BasePlugin {
  override async beforeRunCallback() {
    return 'hello' as unknown as Content;
  }
}

const watches = new Watches('watches');
const ownCallbacks: string[] = [];
const audited: ToolAuditRecord[] = [];
const logger = recordingLogger();
const kept = recordingLogger();
const warnings: string[] = [];

function app(name: string, plugins: BasePlugin[], config: Partial<LlmAgentConfig> = {}): App {
  const rootAgent = new LlmAgent({
    name: `${name}_agent`,
    model: 'gemini-2.5-flash',
    tools: [lookUp, breaks, readVault],
    modelRetry: { maximumAttempts: 1 },
    ...config,
  });
  return new App({ name, rootAgent, plugins });
}

describe('plugins in turns', () => {
  let environment: TurnEnvironment;
  const run = (name: string, text: string): Promise<RanTurn> =>
    environment.run({ app: name, sessionId: `${name}: ${text}`, message: text });
  const responses = ({ events }: RanTurn) =>
    events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      apps: [
        app('watched', [watches]),
        app('replaced', [new Replaces('replaces')]),
        app('answered', [new Answers('answers'), watches], {
          beforeModelCallback: () => {
            ownCallbacks.push('before model');
            return undefined;
          },
        }),
        app('throwing', [new Throws('throws')]),
        app('rubbish', [new Rubbish('rubbish')]),
        app('reflecting', [new ReflectAndRetryToolPlugin()]),
        app('guarded', [new RepetitionGuardPlugin()]),
        app('audited', [new ToolAuditPlugin((record) => audited.push(record))]),
        app('logged', [new LoggingPlugin('log', { logger })]),
        app('instructed', [new GlobalInstructionPlugin('Speak as in {user:city?}.')], {
          instruction: 'You sell.',
          beforeAgentCallback: ({ state }: Context) => {
            state.set('user:city', 'Graz');
            return undefined;
          },
        }),
        app('files', [new SaveFilesAsArtifactsPlugin({ logger: kept })]),
      ],
      script: (request, info) => {
        const plan = PLANS[info.userText] ?? [];
        const script = stepCalls(plan);
        if (!(typeof script === 'function')) throw new Error('stepCalls makes a function');
        return script(request, info);
      },
      logger: { warn: (message, attributes) => void warnings.push(message + JSON.stringify(attributes)) },
    });
  });
  afterAll(() => environment?.close());

  test('each hook is asked when its time has come [plugin.hooks]', async () => {
    watches.hooks.length = 0;
    const { result } = await run('watched', 'one call');
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    const author = 'watched_agent';
    expect(watches.hooks).toEqual([
      'message',
      'before run',
      'before agent',
      'tool selection',
      'before model',
      'after model',
      `event of ${author}: functionCall`,
      'before tool',
      'after tool',
      `event of ${author}: functionResponse`,
      'call completed',
      'tool selection',
      'before model',
      'after model',
      `event of ${author}: text`,
      'after agent',
      'after run',
    ]);
  });

  test('the first plugin that answers wins, before the agent’s own callbacks [plugin.hooks]', async () => {
    watches.hooks.length = 0;
    const { result, events } = await run('answered', 'one call');
    expect(result).toMatchObject({ status: 'completed', text: 'the plugin answers' });
    expect(events.at(-1)?.event.content?.parts).toEqual([{ text: 'the plugin answers' }]);
    expect(ownCallbacks).toEqual([]);
    expect(watches.hooks.filter((hook) => hook.endsWith('model'))).toEqual([]);
  });

  test('a message and events are stored as a plugin has them, under their own ids [plugin.message] [plugin.events]', async () => {
    const { events, result } = await run('replaced', 'hello');
    expect(result.status).toBe('completed');
    expect(events.map(({ event }) => event.content?.parts?.[0]?.text)).toEqual([
      'hello, said the plugin',
      'done',
    ]);
    const [message, answer] = events.map(({ event }) => event);
    expect(message?.customMetadata).toBeUndefined();
    expect(answer).toMatchObject({
      customMetadata: { seen: true },
      invocationId: result.invocationId,
      id: expect.not.stringMatching(/^mine$/),
    });
  });

  test('what hooks behind the turn throw is logged and ends nothing [plugin.hooks]', async () => {
    warnings.length = 0;
    const { result } = await run('throwing', 'one call');
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    await expect
      .poll(() => warnings.join('\n'))
      .toMatch(/no audit today[\s\S]*nobody listens|nobody listens[\s\S]*no audit today/);
  });

  test('an answer that is none fails the turn, and says whose it was [plugin.hooks]', async () => {
    const { result, events } = await run('rubbish', 'hello');
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_PLUGIN_FAILED' } });
    expect(result.error?.message).toMatch(
      /^Error in plugin 'rubbish' during 'beforeRunCallback' callback: expected a Content .* got string/,
    );
    expect(events.at(-1)?.event).toMatchObject({ errorCode: 'HOLDFAST_PLUGIN_FAILED' });
  });

  test('failures are counted over steps, and the model is told to stop [plugin.reflect]', async () => {
    const turn = await run('reflecting', 'five failures');
    expect(turn.result.status).toBe('completed');
    expect(responses(turn).map((response) => response?.retry_count)).toEqual([1, 2, 3, 3, 3]);
    expect(responses(turn)[4]?.reflection_guidance).toContain('Do not call `breaks` again');
    const names = { app: 'reflecting', userId: 'ada', sessionId: 'reflecting: five failures' };
    expect((await environment.client.sessions.get(names))?.state).toEqual({});
    expect(JSON.stringify(turn.events)).not.toContain('_adk_reflect');
  });

  test('a call that is repeated is answered, and not run [plugin.guard]', async () => {
    const turn = await run('guarded', 'four equal calls');
    expect(turn.result).toMatchObject({ status: 'completed', text: 'done' });
    expect(ran['guarded: four equal calls']).toBe(3);
    expect(responses(turn)).toEqual([
      ...Array.from({ length: 3 }, () => ({ status: 'shipped' })),
      { error: expect.stringContaining('This call was not run: `look_up` has already been called 3 times') },
    ]);
  });

  test('each call is written down once, in call order; a secret one without what it is about [plugin.audit]', async () => {
    const { result } = await run('audited', 'open the vault');
    const place = {
      app: 'audited',
      agent: 'audited_agent',
      userId: 'ada',
      invocationId: result.invocationId,
      step: 1,
      failed: false,
    };
    expect(audited).toEqual([
      expect.objectContaining({ ...place, tool: 'read_vault', callKey: expect.stringMatching(/\.1\.0$/) }),
      expect.objectContaining({
        ...place,
        tool: 'look_up',
        callKey: expect.stringMatching(/\.1\.1$/),
        args: { id: 'A-1' },
        response: { status: 'shipped' },
      }),
    ]);
    expect(JSON.stringify(audited)).not.toMatch(/daffodil|tulip/);
  });

  test('lines say what happened, and nothing of secrets [plugin.logging]', async () => {
    await run('logged', 'open the vault');
    const messages = logger.lines.map(({ message }) => message.replace('[log] ', ''));
    expect(messages.filter((message) => message === 'TOOL COMPLETED')).toHaveLength(2);
    expect(messages[0]).toBe('USER MESSAGE RECEIVED');
    expect(messages.at(-1)).toBe('INVOCATION COMPLETED');
    expect(JSON.stringify(logger.lines)).not.toMatch(/daffodil|tulip/);
  });

  test('the instruction of all stands before the agent’s, with state as it is by then [plugin.globalInstruction]', async () => {
    const before = environment.gemini.requests.length;
    await run('instructed', 'hello');
    const [request] = environment.gemini.requests.slice(before);
    expect(JSON.stringify(request?.body.systemInstruction)).toMatch(/Speak as in Graz\.\\n\\n.*You sell\./);
  });

  test('a message’s files are kept as artifacts, and it names them [plugin.saveFiles]', async () => {
    const message = {
      role: 'user',
      parts: [{ text: 'see' }, { inlineData: { data: 'aGk=', mimeType: 'text/plain' } }],
    };
    const { events } = await environment.run({ app: 'files', message });
    const [said, named] = events[0]?.event.content?.parts ?? [];
    expect(said).toEqual({ text: 'see' });
    expect(named?.text).toMatch(/^\[Uploaded Artifact: "artifact_.+_1"\]$/);
    expect(kept.lines).toEqual([]);
  });

  test('plugins are closed with their worker [plugin.close]', async () => {
    await environment.stopWorker();
    expect(watches.closed).toBeGreaterThan(0);
  });
});
