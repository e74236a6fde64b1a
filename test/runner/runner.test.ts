import * as adk from '@google/adk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type CreateEventParams,
  createEvent,
  type Event,
  InMemoryRunner,
  InMemorySessionService,
  isFinalResponse,
  isRunner,
  LlmAgent,
  Runner,
  StreamingMode,
  setLogger,
  stringifyContent,
  tool,
} from '../../src/index.ts';
import { StoreSessionService } from '../../src/runner/store-session-service.ts';
import { call, error, type GeminiScript, hang, startMockGemini, text } from '../../src/testing/index.ts';
import { someOf } from '../setup/tier.ts';

const gemini = await startMockGemini({ script: [] });
Object.assign(process.env, gemini.env);

const look = {
  name: 'look_up',
  description: 'looks an order up',
  parameters: z.object({ id: z.string() }),
  execute: ({ id }: { id: string }) => ({ id, status: 'shipped' }),
};
const agent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [tool(look)] });
const appName = 'shop';
const userId = 'ada';
const newMessage = { role: 'user', parts: [{ text: 'Where is A-1?' }] };
const script: GeminiScript = ({ contents = [] }) =>
  contents.at(-1)?.parts?.[0]?.functionResponse === undefined
    ? call('look_up', { id: 'A-1' })
    : text('It is on its way to you.');

let runner: InMemoryRunner;
let service: InMemorySessionService;

beforeAll(async () => {
  // Failed attempts are told there, and some are wanted.
  setLogger(null);
  runner = new InMemoryRunner({ agent, appName });
  service = runner.sessionService as InMemorySessionService;
  await service.listSessions({ appName });
});
beforeEach(() => gemini.reset(script));
afterAll(async () => {
  await runner.close();
  await gemini.close();
});

async function newSession(state?: Record<string, unknown>): Promise<string> {
  const { id } = await service.createSession({ appName, userId, ...(state ? { state } : {}) });
  return id;
}

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const event of events) list.push(event);
  return list;
}

/** What a program sees of an event, whoever made it. */
function shown({ author, content, partial, errorCode, actions, longRunningToolIds }: Event | adk.Event) {
  const parts = content?.parts?.map(({ functionCall, functionResponse, text: said }) => ({
    ...(functionCall ? { call: [functionCall.name, functionCall.args] } : {}),
    ...(functionResponse ? { response: [functionResponse.name, functionResponse.response] } : {}),
    ...(said === undefined ? {} : { text: said }),
  }));
  return {
    author,
    role: content?.role,
    parts,
    partial,
    errorCode,
    actions: { ...actions },
    longRunningToolIds: longRunningToolIds ?? [],
  };
}

async function ofAdk(streamingMode = adk.StreamingMode.NONE): Promise<adk.Event[]> {
  const theirs = new adk.InMemoryRunner({
    agent: new adk.LlmAgent({
      name: 'desk',
      model: 'gemini-2.5-flash',
      tools: [new adk.FunctionTool(look)],
    }),
    appName,
  });
  const session = await theirs.sessionService.createSession({ appName, userId });
  return await all(
    theirs.runAsync({
      userId,
      sessionId: session.id,
      newMessage: { ...newMessage },
      runConfig: { streamingMode },
    }),
  );
}

describe('runAsync', () => {
  test('yields the events that ADK yields, in order [runner.run]', async () => {
    const sessionId = await newSession();
    const ours = await all(runner.runAsync({ userId, sessionId, newMessage }));
    gemini.reset(script);
    expect(ours.map(shown)).toEqual((await ofAdk()).map(shown));
    expect(ours.map(isFinalResponse)).toEqual([false, false, true]);
    expect(gemini.refusals).toEqual([]);
    const session = await service.getSession({ appName, userId, sessionId });
    expect(session?.events.map(({ id }) => id).slice(1)).toEqual(ours.map(({ id }) => id));
    expect(session?.events[0]).toMatchObject({ author: 'user', content: newMessage });
  });

  test('yields pieces of the text before the whole of it, with StreamingMode.SSE [runner.run]', async () => {
    const sessionId = await newSession();
    const runConfig = { streamingMode: StreamingMode.SSE };
    const ours = await all(runner.runAsync({ userId, sessionId, newMessage, runConfig }));
    gemini.reset(script);
    const theirs = await ofAdk(adk.StreamingMode.SSE);
    // With a stream, ADK has events without content, and tells of others that they aren't partial.
    const whole = (event: Event | adk.Event) => !event.partial && event.content !== undefined;
    const saidOf = (event: Event | adk.Event) => ({ ...shown(event), partial: undefined });
    expect(ours.filter(whole).map(saidOf)).toEqual(theirs.filter(whole).map(saidOf));
    const textOf = (events: (Event | adk.Event)[]) =>
      events.filter((event) => event.partial).map((event) => stringifyContent(event as Event));
    expect(textOf(ours).join('')).toBe('It is on its way to you.');
    expect(textOf(ours).join('')).toBe(textOf(theirs).join(''));
    expect(ours.findIndex((event) => event.partial)).toBeLessThan(ours.length - 1);
    expect(whole(ours.at(-1) as Event)).toBe(true);
    expect(ours.filter((event) => event.partial).every(({ author }) => author === 'desk')).toBe(true);
  });

  test('goes on with the session, its state and its transcript [runner.run] [runner.sessions]', async () => {
    const sessionId = await newSession({ plan: 'gold', 'user:name': 'Ada' });
    const asked = {
      userId,
      sessionId,
      newMessage,
      stateDelta: { seen: 1 },
      customMetadata: { channel: 'mail' },
    };
    await all(runner.runAsync(asked));
    gemini.reset([text('As I said.')]);
    const [answer] = await all(runner.runAsync({ userId, sessionId, newMessage }));
    expect(stringifyContent(answer as Event)).toBe('As I said.');
    expect(JSON.stringify(gemini.requests[0]?.body)).toContain('shipped');
    const session = await service.getSession({ appName, userId, sessionId });
    expect(session?.state).toMatchObject({ plan: 'gold', seen: 1, 'user:name': 'Ada' });
    expect(session?.events.map(({ author }) => author)).toEqual([
      'user',
      'desk',
      'desk',
      'desk',
      'user',
      'desk',
    ]);
    expect(session?.events[0]).toMatchObject({
      customMetadata: { channel: 'mail' },
      actions: { stateDelta: { seen: 1 } },
    });
  });

  test('sees what was appended to its session [runner.sessions]', async () => {
    const session = await service.createSession({ appName, userId });
    const append = (params: CreateEventParams) =>
      service.appendEvent({ session, event: createEvent(params) });
    await append({ author: 'system', actions: { stateDelta: { plan: 'gold' } } });
    await append({ author: 'user', content: { role: 'user', parts: [{ text: 'I called before.' }] } });
    gemini.reset([text('So you did.')]);
    await all(runner.runAsync({ userId, sessionId: session.id, newMessage }));
    expect(gemini.requests[0]?.body.contents).toEqual([
      { role: 'user', parts: [{ text: 'I called before.' }] },
      newMessage,
    ]);
    const stored = await service.getSession({ appName, userId, sessionId: session.id });
    expect(stored?.state).toMatchObject({ plan: 'gold' });
    expect(stored?.events.map(({ author }) => author)).toEqual(['system', 'user', 'user', 'desk']);
  });

  test('pauses on calls, and goes on with a message that has their responses [runner.pause]', async () => {
    const runConfig = { pauseOnToolCalls: true };
    const sessionId = await newSession();
    const run = async (message: typeof newMessage | { role: string; parts: object[] }) =>
      await all(runner.runAsync({ userId, sessionId, newMessage: message, runConfig }));
    const paused = await run(newMessage);
    expect(paused.map(shown)).toMatchObject([{ parts: [{ call: ['look_up', { id: 'A-1' }] }] }]);
    const asked = paused[0]?.content?.parts?.[0]?.functionCall;
    const functionResponse = { id: asked?.id, name: 'look_up', response: { status: 'lost' } };
    const answered = await run({ role: 'user', parts: [{ functionResponse }] });
    expect(answered.map((event) => stringifyContent(event))).toEqual(['It is on its way to you.']);
    expect(JSON.stringify(gemini.requests.at(-1)?.body)).toContain('{"status":"lost"}');
    expect(gemini.refusals).toEqual([]);
  });

  test('yields a failing model as an error event, as ADK does [runner.run]', async () => {
    gemini.reset(() => error(400, 'The model is overburdened by this.'));
    const sessionId = await newSession();
    const events = await all(runner.runAsync({ userId, sessionId, newMessage }));
    expect(events).toHaveLength(1);
    expect(events[0]?.errorMessage).toContain('The model is overburdened by this.');
    gemini.reset(() => error(400, 'The model is overburdened by this.'));
    const theirs = await ofAdk();
    expect(theirs.map(({ errorCode }) => typeof errorCode)).toEqual(['string']);
  });

  test('ends with an error event where a run has asked the model too often [runner.run]', async () => {
    gemini.reset(() => call('look_up', { id: 'A-1' }));
    const sessionId = await newSession();
    const events = await all(
      runner.runAsync({ userId, sessionId, newMessage, runConfig: { maxLlmCalls: 2 } }),
    );
    expect(events.at(-1)?.errorMessage).toContain('limit of 2 exceeded');
  });

  test('a run that is aborted ends, and so does its turn [runner.run]', async () => {
    gemini.reset(() => hang());
    const sessionId = await newSession();
    const stop = new AbortController();
    const running = all(runner.runAsync({ userId, sessionId, newMessage, abortSignal: stop.signal }));
    await gemini.waitForRequests(1);
    stop.abort();
    expect(await running).toEqual([]);
    gemini.reset([text('Here again.')]);
    const [answer] = await all(runner.runAsync({ userId, sessionId, newMessage }));
    expect(stringifyContent(answer as Event)).toBe('Here again.');
    expect(await all(runner.runAsync({ userId, sessionId, newMessage, abortSignal: stop.signal }))).toEqual(
      [],
    );
    expect(gemini.requests).toHaveLength(1);
  });

  test('a turn whose reader has left goes on to its end [runner.run]', async () => {
    const sessionId = await newSession();
    for await (const event of runner.runAsync({ userId, sessionId, newMessage })) {
      expect(isFinalResponse(event)).toBe(false);
      break;
    }
    const events = async () => (await service.getSession({ appName, userId, sessionId }))?.events ?? [];
    await expect.poll(async () => (await events()).map(isFinalResponse).at(-1)).toBe(true);
    expect(await events()).toHaveLength(4);
  });

  test.each<[string, object, string]>([
    ['a session that is not there', { sessionId: 'none' }, 'Session not found: none'],
    ['a message without parts', { newMessage: { role: 'user', parts: [] } }, 'No parts in the newMessage.'],
    [
      'a call that only the framework makes',
      { newMessage: { parts: [{ functionCall: { name: 'adk_request_input', args: {} } }] } },
      "A client message may not contain a 'adk_request_input' function call: it is raised by the framework, and can only be answered with a function response.",
    ],
    [
      'two-way streaming',
      { runConfig: { streamingMode: 'bidi' } },
      'StreamingMode.BIDI is not supported; use StreamingMode.SSE.',
    ],
    [
      'too large a limit',
      { runConfig: { maxLlmCalls: 2 ** 54 } },
      `maxLlmCalls should be less than ${Number.MAX_SAFE_INTEGER}.`,
    ],
  ])('%s is refused in the words of ADK [runner.run] [runner.config]', async (_, given, message) => {
    const sessionId = await newSession();
    await expect(all(runner.runAsync({ userId, sessionId, newMessage, ...given }))).rejects.toMatchObject({
      message,
    });
    const theirs = new adk.InMemoryRunner({
      agent: new adk.LlmAgent({ name: 'desk', model: 'gemini-2.5-flash' }),
      appName,
    });
    await theirs.sessionService.createSession({ appName, userId, sessionId });
    await expect(all(theirs.runAsync({ userId, sessionId, newMessage, ...given }))).rejects.toThrow(
      new Error(message),
    );
  });
});

test('runEphemeral runs in a session of its own, which is gone afterwards [runner.ephemeral]', async () => {
  const before = (await service.listSessions({ appName })).totalItems;
  const events = await all(runner.runEphemeral({ userId: 'bob', newMessage }));
  expect(events.map(({ author }) => author)).toEqual(['desk', 'desk', 'desk']);
  for await (const event of runner.runEphemeral({ userId: 'bob', newMessage })) {
    expect(isFinalResponse(event)).toBe(false);
    break;
  }
  expect((await service.listSessions({ appName })).totalItems).toBe(before);
});

describe('a Runner', () => {
  test('runs several agents over one session service [runner.run]', async () => {
    const other = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash' });
    const second = new Runner({ appName, agent: other, sessionService: service });
    const sessionId = await newSession();
    await all(runner.runAsync({ userId, sessionId, newMessage }));
    gemini.reset([text('I am the clerk.')]);
    const events = await all(second.runAsync({ userId, sessionId, newMessage }));
    expect(events.map(({ author }) => author)).toEqual(['clerk']);
  });

  test('with a client lets the workers that this reaches answer [runner.run]', async () => {
    const { api, release } = await StoreSessionService.accessOf(service).hold({ agent });
    const remote = new Runner({ appName, agent, client: api });
    const session = await remote.sessionService.createSession({ appName, userId });
    const events = await all(remote.runAsync({ userId, sessionId: session.id, newMessage }));
    expect(events.map(isFinalResponse)).toEqual([false, false, true]);
    release();
  });

  test('says what it is made of', () => {
    expect(runner).toMatchObject({ appName, agent });
    expect(new InMemoryRunner({ agent }).appName).toBe('InMemoryRunner');
    expect([runner, new Runner({ agent, appName, sessionService: service }), {}, null].map(isRunner)).toEqual(
      [true, true, false, false],
    );
    expect(runner.pluginManager.plugins).toEqual([]);
  });

  const client = {} as never;
  test.each<[string, object, string]>([
    [
      'no agent',
      { agent: undefined },
      'Runner: agent: agent must be provided in runner constructor (or via app.rootAgent)',
    ],
    [
      'an agent of another package',
      { agent: new adk.LlmAgent({ name: 'desk', model: 'gemini-2.5-flash' }) },
      "Runner: agent: an agent of @google/adk; import its class from 'holdfast' instead",
    ],
    ['what is no agent', { agent: { name: 'desk' } }, 'Runner: agent: expected an agent, got object'],
    [
      'no session service',
      { sessionService: undefined },
      'Runner: sessionService: required: an InMemorySessionService, or in its place a `client`',
    ],
    [
      'sessions of another package',
      { sessionService: new adk.InMemorySessionService() },
      "Runner: sessionService: turns are durable with Holdfast's own store only",
    ],
    [
      'sessions of this process with a client',
      { client, sessionService: new InMemorySessionService() },
      "Runner: sessionService: its sessions are this process's own",
    ],
    [
      'plugins with a client',
      { client, sessionService: undefined, plugins: [{}] },
      'Runner: plugins: the workers of `client` run the app',
    ],
    [
      'a memory service with a client',
      { client, sessionService: undefined, memoryService: {} },
      'Runner: memoryService: the workers of `client` have the service of their app: give it to `durable.memory: { service }` there',
    ],
    [
      'a mistyped option',
      { sessionservice: {} },
      'Runner: sessionservice: unknown option; did you mean "sessionService"?',
    ],
  ])('refuses %s', (_, given, message) => {
    expect(
      () => new Runner({ appName, agent, sessionService: new InMemorySessionService(), ...given } as never),
    ).toThrow(message);
  });
});

describe('a run config', () => {
  const run = (runConfig: object) =>
    all(runner.runAsync({ userId, sessionId: 'none', newMessage, runConfig }));

  test.each(someOf(['speechConfig', 'responseModalities', 'proactivity', 'contextWindowCompression']))(
    'refuses %s by its name [runner.config]',
    async (field) => {
      await expect(run({ [field]: {} })).rejects.toThrow(`runConfig: ${field}: is of the Live API`);
    },
  );

  test.each(someOf(['supportCfc', 'saveInputBlobsAsArtifacts', 'plainTextToolConfirmation']))(
    'refuses %s where it is true [runner.config]',
    async (field) => {
      await expect(run({ [field]: true })).rejects.toThrow(`runConfig: ${field}: `);
      await expect(run({ [field]: false })).rejects.toThrow('Session not found: none');
    },
  );

  test('refuses a field that nobody has [runner.config]', async () => {
    await expect(run({ maxLLMCalls: 3 })).rejects.toThrow(
      'runConfig: maxLLMCalls: is no field of a RunConfig',
    );
    await expect(run({ allowRemoteToolConfirmation: true })).rejects.toThrow(
      'a decision answers a call that waits',
    );
  });
});
