import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Content } from '../../src/events/content.ts';
import { type Event, stringifyContent } from '../../src/events/event.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { InvocationContext, ToolCallRecord } from '../../src/tools/invocation-context.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const model = new OwnModel();
let called: string[] = [];
const told = (name: string) => {
  called.push(name);
  return undefined;
};
let hooks: {
  message?: (message: Content, context: InvocationContext) => Content | undefined;
  event?: (event: Event) => Event | undefined;
  run?: () => Content | undefined;
  completed?: (context: Context) => void;
} = {};

class Telling extends BasePlugin {
  override async onUserMessageCallback({
    userMessage,
    invocationContext,
  }: Parameters<BasePlugin['onUserMessageCallback']>[0]) {
    told('plugin onUserMessage');
    return hooks.message?.(userMessage, invocationContext);
  }
  override async beforeRunCallback() {
    told('plugin beforeRun');
    return hooks.run?.();
  }
  override async onEventCallback({ event }: { event: Event }) {
    const { content, errorCode } = event;
    told(
      `plugin onEvent ${errorCode ?? (content?.parts?.[0]?.functionResponse ? 'responses' : content?.role)}`,
    );
    return hooks.event?.(event);
  }
  override async afterRunCallback() {
    told('plugin afterRun');
  }
  override async beforeAgentCallback() {
    return told('plugin beforeAgent');
  }
  override async afterAgentCallback() {
    return told('plugin afterAgent');
  }
  override async beforeModelCallback() {
    return told('plugin beforeModel');
  }
  override async afterModelCallback() {
    return told('plugin afterModel');
  }
  override async beforeToolCallback() {
    return told('plugin beforeTool');
  }
  override async afterToolCallback() {
    return told('plugin afterTool');
  }
  override async onToolCallCompleted({
    call,
    callbackContext,
  }: {
    call: ToolCallRecord;
    callbackContext: Context;
  }) {
    told(`plugin completed ${call.name} ${call.step} ${JSON.stringify(call.response)}`);
    hooks.completed?.(callbackContext);
  }
  override async close() {
    told('plugin close');
  }
}
class Shelf extends BaseToolset {
  override async getTools() {
    return [tool({ name: 'shelved', description: 'd', execute: () => ({ ok: true }) })];
  }
  override async close() {
    told('toolset close');
  }
}

const count = tool({ name: 'count', description: 'counts', execute: () => ({ counted: 1 }) });
const last = tool({
  name: 'last',
  description: 'ends the turn',
  execute: (_args, { actions }) => {
    actions.skipSummarization = true;
    return { done: true };
  },
});
const rootAgent = new LlmAgent({
  name: 'plugged',
  model,
  tools: [count, last, new Shelf()],
  beforeAgentCallback: () => told('agent beforeAgent'),
  afterAgentCallback: () => told('agent afterAgent'),
  beforeModelCallback: () => told('agent beforeModel'),
  afterModelCallback: () => told('agent afterModel'),
  beforeToolCallback: () => told('agent beforeTool'),
  afterToolCallback: () => told('agent afterTool'),
});
const app = new App({ name: 'plugged', rootAgent, plugins: [new Telling('telling')] });

const calling = (name: string): LlmResponse => ({
  content: { role: 'model', parts: [{ functionCall: { name, args: {}, id: 'call-1' } }] },
});
const text = (value: string): Content => ({ role: 'user', parts: [{ text: value }] });

describe('plugins of an app', () => {
  let environment: TurnEnvironment;
  let requests: LlmRequest[] = [];

  beforeAll(async () => {
    environment = await openTurnEnvironment({ apps: [app] });
  });
  beforeEach(() => {
    requests = [];
    answering();
    hooks = {};
    called = [];
  });
  afterAll(() => environment.close());

  /** The given responses in order, then an end. */
  function answering(...responses: LlmResponse[]) {
    model.respond = async (request) => {
      requests.push(request);
      return responses.shift() ?? saying('fine');
    };
  }
  const run = (more: Partial<Parameters<TurnEnvironment['run']>[0]> = {}) =>
    environment.run({ app: 'plugged', message: 'go', ...more });
  const texts = (events: readonly { event: Event }[]) => events.map(({ event }) => stringifyContent(event));

  test('see a turn from its message to its end, before the agent’s callbacks [plugin.hooks]', async () => {
    answering(calling('count'));
    await run();
    expect(called).toEqual([
      'plugin onUserMessage',
      'plugin beforeRun',
      'plugin beforeAgent',
      'agent beforeAgent',
      'plugin beforeModel',
      'agent beforeModel',
      'plugin afterModel',
      'agent afterModel',
      'plugin onEvent model',
      'plugin beforeTool',
      'agent beforeTool',
      'plugin afterTool',
      'agent afterTool',
      'plugin onEvent responses',
      'plugin completed count 1 {"counted":1}',
      'plugin beforeModel',
      'agent beforeModel',
      'plugin afterModel',
      'agent afterModel',
      'plugin onEvent model',
      'plugin afterAgent',
      'agent afterAgent',
      'plugin afterRun',
    ]);
  });

  test('see the end of a turn that a tool ends [plugin.hooks]', async () => {
    answering(calling('last'));
    await run();
    expect(called.slice(-5)).toEqual([
      'plugin onEvent responses',
      'plugin completed last 1 {"done":true}',
      'plugin afterAgent',
      'agent afterAgent',
      'plugin afterRun',
    ]);
  });

  test('replace a message: that is stored and sent, and its id is known by the original [plugin.hooks]', async () => {
    let before: unknown;
    const sessionId = randomUUID();
    await run({ sessionId, message: 'earlier' });
    hooks.message = (_message, { session }) => {
      before = texts(session.events.map((event) => ({ event })));
      return text('my card is ****');
    };
    const message = {
      app: 'plugged',
      userId: 'ada',
      sessionId,
      messageId: 'm-1',
      message: 'my card is 1234',
    };
    const turn = await run(message);
    expect(before).toEqual(['earlier', 'fine']);
    expect(texts(turn.events).slice(2)).toEqual(['my card is ****', 'fine']);
    expect(requests.at(-1)?.contents.at(-1)).toEqual(text('my card is ****'));

    called = [];
    const again = await environment.client.sendMessage(message);
    expect((await again.result()).invocationId).toBe(turn.result.invocationId);
    const other = await environment.client.sendMessage({ ...message, message: 'my card is 5678' });
    expect((await other.result()).error?.code).toBe('HOLDFAST_MESSAGE_CONFLICT');
    expect(called).toEqual([]);
    expect(await environment.store.sessions.readEvents(message)).toHaveLength(4);
  });

  test('replace a message that waited in the queue, its metadata stay [plugin.hooks]', async () => {
    const asked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    model.respond = async () => {
      asked.resolve();
      await goOn.promise;
      return saying('fine');
    };
    const names = { app: 'plugged', userId: 'ada', sessionId: randomUUID() };
    const first = await environment.client.sendMessage({ ...names, message: 'first' });
    await asked.promise;
    hooks.message = (message) => text(`${stringifyContent({ content: message })}, please`);
    const second = await environment.client.sendMessage({
      ...names,
      message: 'sec\0nd',
      runConfig: { customMetadata: { channel: 'chat' } },
    });
    goOn.resolve();
    await Promise.all([first.result(), second.result()]);
    const events = await environment.store.sessions.readEvents(names);
    expect(texts(events)).toEqual(['first', 'fine', 'sec\ufffdnd, please', 'fine']);
    expect(events[2]?.event.customMetadata).toEqual({ channel: 'chat' });
  });

  test('hear a message that gives way to others once, when its turn comes [plugin.hooks]', async () => {
    const asked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    model.respond = async () => {
      asked.resolve();
      await goOn.promise;
      return saying('fine');
    };
    const heard: string[] = [];
    hooks.message = (message) => {
      const said = stringifyContent({ content: message });
      heard.push(said);
      return text(`${said}, please`);
    };
    const names = { app: 'plugged', userId: 'ada', sessionId: randomUUID() };
    const send = (message: string) =>
      environment.client.sendMessage({ ...names, message, messageId: message });
    const first = await send('first');
    await asked.promise;
    for (const message of ['second', 'third']) await (await send(message)).receipt({ timeout: 120_000 });
    await environment.temporal.workflow.getHandle(first.workflowId).terminate();
    goOn.resolve();
    const third = await send('third');
    expect(await third.result()).toMatchObject({ status: 'completed', invocationId: third.invocationId });
    expect(heard).toEqual(['first', 'second', 'third']);
    const messages = (await environment.store.sessions.readEvents(names)).filter(
      ({ kind }) => kind === 'message',
    );
    expect(texts(messages)).toEqual(['first, please', 'second, please', 'third, please']);
  });

  test('metadata of a run config stand on the message’s event [runner.config]', async () => {
    const { events } = await run({ runConfig: { customMetadata: { channel: 'mail' } } });
    expect(events[0]?.event).toMatchObject({ author: 'user', customMetadata: { channel: 'mail' } });
  });

  test('replace the model’s event: that is stored, and the turn’s text [plugin.hooks]', async () => {
    answering(saying('call me on tulip'));
    hooks.event = (event) => ({
      ...event,
      author: '',
      id: 'mine',
      invocationId: 'mine',
      content: { role: 'model', parts: [{ text: 'call me on ***' }] },
    });
    const { result, events } = await run();
    expect(result).toMatchObject({ status: 'completed', text: 'call me on ***' });
    expect(events[1]?.event).toMatchObject({ author: 'plugged', invocationId: result.invocationId });
    expect(events[1]?.event.id).not.toBe('mine');
    expect(JSON.stringify(events)).not.toContain('tulip');
  });

  test('replace responses: the model and the store see what they say [plugin.hooks]', async () => {
    answering(calling('count'));
    hooks.event = (event) => {
      const response = event.content?.parts?.[0]?.functionResponse;
      if (response === undefined) return undefined;
      response.response = { counted: 'many' };
      event.actions.stateDelta['temp:seen'] = true;
      event.actions.stateDelta.counted = true;
      return undefined;
    };
    const { events } = await run();
    expect(requests[1]?.contents.at(-1)?.parts).toMatchObject([
      { functionResponse: { response: { counted: 'many' } } },
    ]);
    expect(events[2]).toMatchObject({
      kind: 'responses',
      event: {
        content: { parts: [{ functionResponse: { response: { counted: 'many' } } }] },
        actions: { stateDelta: { counted: true } },
      },
    });
  });

  test('replace responses with which a tool ends the turn, too [plugin.hooks]', async () => {
    answering(calling('last'));
    hooks.event = (event) => {
      const response = event.content?.parts?.[0]?.functionResponse;
      if (response) response.response = { done: 'indeed' };
      return event;
    };
    const { result, events } = await run();
    expect(result).toMatchObject({ status: 'completed', usage: { modelCalls: 1 } });
    expect(events.at(-1)?.event.content?.parts).toMatchObject([
      { functionResponse: { response: { done: 'indeed' } } },
    ]);
  });

  test('replace an event by its content alone: what it does stays [plugin.hooks]', async () => {
    answering(calling('last'));
    hooks.event = ({ content }) => ({ content }) as Event;
    const { result, events } = await run();
    expect(result).toMatchObject({ status: 'completed', usage: { modelCalls: 1 } });
    expect(events.map(({ event }) => [event.author, event.actions.skipSummarization])).toEqual([
      ['user', undefined],
      ['plugged', undefined],
      ['plugged', true],
    ]);
  });

  test.each(
    someOf([
      ['count', 1],
      ['last', 1],
    ]),
  )(
    'end the turn behind %s: no model, no agent’s end, and the state counts [plugin.hooks]',
    async (name, modelCalls) => {
      answering(calling(name));
      hooks.completed = ({ invocationContext, state }) => {
        state.set('heard', name);
        invocationContext.endInvocation = true;
      };
      const { result, events } = await run();
      expect(result).toMatchObject({ status: 'completed', usage: { modelCalls } });
      expect(events.at(-1)).toMatchObject({
        kind: 'callback',
        event: { actions: { stateDelta: { heard: name } } },
      });
      expect(called).not.toContain('agent afterAgent');
      expect(called).toContain('plugin afterRun');
    },
  );

  test('replace an error’s event [plugin.hooks]', async () => {
    model.respond = async () => {
      throw new ModelError({ kind: 'bad_request', message: 'project p-123 has no quota' });
    };
    hooks.event = (event) => ({ ...event, errorMessage: 'try later' });
    const { events } = await run();
    expect(events.at(-1)).toMatchObject({ kind: 'error', event: { errorMessage: 'try later' } });
  });

  test('end a run before it begins: no agent, no end of a run [plugin.hooks]', async () => {
    hooks.run = () => ({ parts: [{ text: 'closed' }] });
    const { result, events } = await run();
    expect(result).toMatchObject({ status: 'completed', text: 'closed', usage: { modelCalls: 0 } });
    expect(events.map(({ kind, event }) => [kind, event.author])).toEqual([
      ['message', 'user'],
      ['callback', 'model'],
    ]);
    expect(called).toEqual(['plugin onUserMessage', 'plugin beforeRun', 'plugin onEvent model']);
  });

  test('are closed with their worker, behind toolsets, and work with the next one [toolset.resolve]', async () => {
    answering(calling('shelved'));
    await run();
    called = [];
    await environment.stopWorker();
    expect(called).toEqual(['toolset close', 'plugin close']);
    await environment.restartWorker();
    expect((await run()).result.status).toBe('completed');
  });
});
