import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { RoutedAgent } from '../../src/agents/routed-agent.ts';
import { RoutedLlm, type RouteErrors } from '../../src/agents/routed-llm.ts';
import { App } from '../../src/app/app.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import { getFunctionCalls, getFunctionResponses } from '../../src/events/event.ts';
import { Gemini } from '../../src/models/gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { geminiInSteps } from '../setup/wire/gemini-steps.ts';
import { WIRE_PROVIDERS } from '../setup/wire/providers.ts';
import { inSteps, type WireAnswer, WireServer } from '../setup/wire/wire-server.ts';

const ran: number[] = [];
const parameters = z.object({ n: z.number() });
const execute = ({ n }: { n: number }) => {
  ran.push(n);
  return { noted: n };
};
const tools = [
  tool({ name: 'note', description: 'notes a number', parameters, execute }),
  tool({ name: 'pay', description: 'pays', parameters, execute, requireConfirmation: true }),
];
const quick = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };

const servers = new Map<string, WireServer>();
const serverOf = (name: string) => servers.get(name) as WireServer;
let environment: TurnEnvironment;
/** Routers of the tests, and what they were asked. */
let route: (errors: RouteErrors | undefined) => string | undefined = () => 'openai';
let asked: (string | undefined)[] = [];
const routed = (errors: RouteErrors | undefined) => {
  asked.push((errors?.lastError as { code?: string } | undefined)?.code);
  return route(errors);
};

const PROVIDERS = ['gemini', ...WIRE_PROVIDERS.map(({ name }) => name)];
const agentOf = (provider: string) => `on_${provider.replace('.', '_')}`;

beforeAll(async () => {
  for (const { name, protocol } of WIRE_PROVIDERS) servers.set(name, await WireServer.start(protocol));
  const models = Object.fromEntries(
    WIRE_PROVIDERS.map(({ name, model }) => [name, model(serverOf(name).url)]),
  );
  const [openai, , anthropic] = WIRE_PROVIDERS.map(({ name }) => models[name]);
  if (openai === undefined || anthropic === undefined) throw new Error('no models');
  const agents = PROVIDERS.map((name) => {
    const model = models[name] ?? new Gemini({ model: 'gemini-3-flash-preview' });
    return new LlmAgent({ name: agentOf(name), model, tools, modelRetry: quick });
  });
  const once = { ...quick, maximumAttempts: 1 };
  const spare = new RoutedLlm({
    models: { openai, anthropic },
    router: (_models, _request, errors) => routed(errors),
  });
  const desk = new RoutedAgent({
    name: 'desk',
    agents: {
      openai: new LlmAgent({ name: 'one', model: openai, modelRetry: once, tools }),
      anthropic: new LlmAgent({ name: 'other', model: anthropic, modelRetry: once, tools }),
    },
    router: (_agents, _context, errors) => routed(errors),
  });
  const routing = new LlmAgent({ name: 'routing', model: spare, tools, modelRetry: once });
  const priced = new App({
    name: 'priced',
    rootAgent: new LlmAgent({
      ...{ name: 'paying', model: spare, tools, modelRetry: once },
      afterModelCallback: ({ context, response: { usageMetadata } }) =>
        context.userContent?.parts?.[0]?.text === 'edit' && usageMetadata !== undefined
          ? { content: { role: 'model', parts: [{ text: 'edited' }] }, usageMetadata }
          : undefined,
    }),
    durable: {
      budgets: { turn: { cost: 100 } },
      prices: {
        'gemini-*': { input: 1, output: 1 },
        '*': { input: 1, output: 1 },
        'anthropic/*': { input: 2, output: 10, cachedInput: 1, cacheWriteInput: 3 },
      },
    },
  });
  environment = await openTurnEnvironment({ agents: [...agents, routing, desk], apps: [priced] });
});
beforeEach(() => {
  ran.length = 0;
  asked = [];
});
afterAll(async () => {
  await environment?.close();
  for (const server of servers.values()) await server[Symbol.asyncDispose]();
});

function play(provider: string, ...steps: WireAnswer[]): void {
  playAfter(Promise.resolve(), provider, ...steps);
}

/** The provider answers nothing before. */
function playAfter(ready: Promise<void>, provider: string, ...steps: WireAnswer[]): void {
  if (provider === 'gemini') {
    const script = geminiInSteps(...steps);
    environment.gemini.reset(async (request) => {
      await ready;
      return script(request);
    });
    return;
  }
  const script = inSteps(...steps);
  serverOf(provider).reset(async (turn) => {
    await ready;
    return await script(turn);
  });
}

function refusals(provider: string): unknown[] {
  return [...(provider === 'gemini' ? environment.gemini.refusals : serverOf(provider).refusals)];
}

const note = (n: number, id?: string) => ({ name: 'note', args: { n }, ...(id !== undefined && { id }) });

describe.each(someOf(PROVIDERS))('a turn on %s', (provider) => {
  const agent = agentOf(provider);

  test('parallel calls, some of one id, run once each and get their own responses [model.providers]', async () => {
    play(
      provider,
      { reasoning: 'two', calls: [note(1, 'call_0'), note(2, 'call_0')] },
      { calls: [note(3, 'call_0')] },
    );
    const sessionId = `ids ${provider}`;
    const { result } = await environment.run({ message: 'go', sessionId, agent });
    expect(refusals(provider)).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    const again = await environment.run({ message: 'again', sessionId, agent });
    expect(again.result).toMatchObject({ status: 'completed', text: 'done' });
    expect(refusals(provider)).toEqual([]);
    expect(ran.toSorted()).toEqual([1, 1, 2, 2, 3, 3]);
    const calls = again.events.flatMap(({ event }) => getFunctionCalls(event));
    const responses = again.events.flatMap(({ event }) => getFunctionResponses(event));
    expect(new Set(calls.map(({ id }) => id)).size).toBe(6);
    expect(responses.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
    expect(responses.map(({ response }) => response?.noted)).toEqual([1, 2, 3, 1, 2, 3]);
  });

  test('its text streams, and the event has it whole [model.providers]', async () => {
    const followed = Promise.withResolvers<void>();
    playAfter(followed.promise, provider, { calls: [note(1)] }, { text: ['Hel', 'lo'] });
    const handle = await environment.client.sendMessage({
      ...{ app: 'test', userId: 'ada', sessionId: `stream ${provider}`, message: 'go', agent },
      runConfig: { streamingMode: 'sse' },
    });
    const items: StreamItem[] = [];
    for await (const item of handle.stream()) {
      items.push(item);
      followed.resolve();
    }
    const live = items.flatMap((item) => (item.type === 'text' && !item.thought ? [item.text] : []));
    expect(await handle.result()).toMatchObject({ status: 'completed', text: 'Hello' });
    expect(live.join('')).toBe('Hello');
    expect(refusals(provider)).toEqual([]);
  });

  test('a gated call waits for its approver, its neighbour does not [model.providers]', async () => {
    play(provider, { calls: [note(1), { name: 'pay', args: { n: 2 } }] });
    const turn = await AskingTurn.start(environment, { agent });
    const [request] = await turn.pending();
    await expect.poll(() => ran).toEqual([1]);
    await turn.confirm({ requestId: request?.requestId ?? '', confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(ran).toEqual([1, 2]);
    expect(refusals(provider)).toEqual([]);
  });

  if (!isDeep && provider !== 'anthropic.messages') return;

  test('a worker that stops within a model call: the call is made again [model.providers]', async () => {
    let calls = 0;
    if (provider === 'gemini') {
      const { hang, text } = await import('../../src/testing/gemini-reply.ts');
      environment.gemini.reset(() => (calls++ === 0 ? hang() : text('done')));
    } else {
      serverOf(provider).reset(() => (calls++ === 0 ? { fault: { hang: true } } : { text: 'done' }));
    }
    const handle = await environment.client.sendMessage({
      ...{ app: 'test', userId: 'ada', sessionId: `stop ${provider}`, message: 'go', agent },
    });
    await expect.poll(() => calls).toBe(1);
    await environment.restartWorker();
    expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(calls).toBe(2);
  });
});

test('a session goes from one provider to the next, and each gets what it takes [model.aiSdk.change]', async () => {
  const sessionId = 'changing';
  for (const provider of [...PROVIDERS, ...PROVIDERS]) {
    play(
      provider,
      { reasoning: `thought of ${provider}`, calls: [note(1), note(2)] },
      { text: `I am ${provider}` },
    );
    const { result } = await environment.run({ message: 'go', sessionId, agent: agentOf(provider) });
    expect(refusals(provider)).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', text: `I am ${provider}` });
  }
  const last = JSON.stringify(serverOf('anthropic.messages').requests.at(-1));
  expect(last).not.toContain('thought of openai');
  expect(JSON.stringify(environment.gemini.requests.at(-1))).not.toContain('aiSdk');
});

describe('a routed model', () => {
  test('falls back on a classed failure, and the event tells the route [model.routed]', async () => {
    route = (errors) => (errors === undefined ? 'openai' : 'anthropic');
    serverOf('openai.responses').reset(() => ({ fault: { status: 429, headers: { 'retry-after': '1' } } }));
    play('anthropic.messages', { calls: [note(7)] });
    const { result, events } = await environment.run({ message: 'go', agent: 'routing' });
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(asked).toEqual([
      undefined,
      'HOLDFAST_MODEL_RATE_LIMITED',
      undefined,
      'HOLDFAST_MODEL_RATE_LIMITED',
    ]);
    const routes = events.flatMap(({ event }) => event.customMetadata?.route ?? []);
    expect(routes).toEqual(
      Array.from({ length: 2 }, () => ({
        key: 'anthropic',
        model: 'anthropic/claude-sonnet-4-5',
        failed: [{ key: 'openai', code: 'HOLDFAST_MODEL_RATE_LIMITED' }],
      })),
    );
    expect(ran).toEqual([7]);
  });

  test('is asked although all of its routes have refused one step [model.routed]', async () => {
    route = (errors) => (errors === undefined ? 'openai' : 'anthropic');
    const limited = () => ({ fault: { status: 429, headers: { 'retry-after': '600' } } });
    const both = ['openai.responses', 'anthropic.messages'];
    for (const provider of both) serverOf(provider).reset(limited);
    await environment.client.sendMessage({
      ...{ app: 'test', userId: 'ada', sessionId: 'limited routes', message: 'go', agent: 'routing' },
    });
    await expect.poll(() => serverOf('anthropic.messages').requests.length).toBe(1);
    // The step's failure is recorded by now or soon: other turns ask in the meantime, and after it.
    for (const provider of both) serverOf(provider).reset(() => ({ text: 'free' }));
    for (let turn = 0; turn < 3; turn += 1) {
      const { result } = await environment.run({ message: 'go', agent: 'routing' });
      expect(result).toMatchObject({ status: 'completed', text: 'free' });
    }
  });

  test('fails with the last error where its router knows no other, and costs what its routes cost [model.routed.price] [model.aiSdk.cacheWrite]', async () => {
    route = () => undefined;
    const lost = await environment.run({ message: 'go', agent: 'routing' });
    expect(lost.result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_MODEL_BAD_REQUEST' } });
    route = () => 'anthropic';
    serverOf('anthropic.messages').reset(() => ({
      text: 'hi',
      usage: { input: 1_000, output: 100, cached: 400, written: 300 },
    }));
    const { result } = await environment.run({ message: 'go', app: 'priced', agent: 'paying' });
    expect(result.usage?.cost).toBeCloseTo((300 * 2 + 400 * 1 + 300 * 3 + 100 * 10) / 1e6);
    // A callback's new response has the tokens, and no route of its own.
    const edited = await environment.run({ message: 'edit', app: 'priced', agent: 'paying' });
    expect(edited.result).toMatchObject({ status: 'completed', text: 'edited' });
    expect(edited.result.usage?.cost).toBeCloseTo((300 * 2 + 400 * 1 + 300 * 3 + 100 * 10) / 1e6);
  });
});

describe('a routed agent', () => {
  test('falls back where an agent failed before it said anything [agent.routed]', async () => {
    route = (errors) => (errors === undefined ? 'openai' : 'anthropic');
    serverOf('openai.responses').reset(() => ({ fault: { status: 503 } }));
    play('anthropic.messages', { calls: [note(8)] });
    const { result, events } = await environment.run({ message: 'go', agent: 'desk' });
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(asked).toEqual([undefined, 'HOLDFAST_MODEL_UNAVAILABLE']);
    expect(new Set(events.map(({ event }) => event.author))).toEqual(new Set(['user', 'one', 'other']));
  });

  test('a worker that stops within the chosen agent: its router is not asked again [agent.routed]', async () => {
    route = () => 'openai';
    let calls = 0;
    serverOf('openai.responses').reset(() => (calls++ === 0 ? { fault: { hang: true } } : { text: 'done' }));
    const handle = await environment.client.sendMessage({
      ...{ app: 'test', userId: 'ada', sessionId: 'stopped desk', message: 'go', agent: 'desk' },
    });
    await expect.poll(() => calls).toBe(1);
    await environment.restartWorker();
    expect(await handle.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(asked).toEqual([undefined]);
  });

  test('does not where it has had effects, and fails with its error [agent.routed]', async () => {
    route = (errors) => (errors === undefined ? 'openai' : 'anthropic');
    serverOf('openai.responses').reset(({ answered }) =>
      answered === 0 ? { calls: [note(9)] } : { fault: { status: 503 } },
    );
    const { result } = await environment.run({ message: 'go', agent: 'desk' });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_MODEL_UNAVAILABLE' } });
    expect(asked).toEqual([undefined]);
    expect(ran).toEqual([9]);
  });

  test('fails where its router names nobody, or one that has failed [agent.routed]', async () => {
    route = () => 'openai';
    serverOf('openai.responses').reset(() => ({ fault: { status: 503 } }));
    const { result } = await environment.run({ message: 'go', agent: 'desk' });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_MODEL_UNAVAILABLE' } });
    route = () => 'nobody';
    const none = await environment.run({ message: 'go', agent: 'desk' });
    expect(none.result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_CALLBACK_FAILED' } });
  });
});
