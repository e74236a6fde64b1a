import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { createGateway, localAccess, type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ABOUT, collecting, TOKEN } from '../gateway/gateway-stub.ts';
import { beating } from '../setup/beating.ts';
import { never } from '../setup/own-model.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

type Chunk = Extract<StreamItem, { type: 'tool chunk' }>;

/** What each test has its tool yield. */
let stream: (context: Context) => AsyncGenerator<unknown, unknown>;
/** What tools were told about their calls. */
let told: string[] = [];
let stopped = Promise.withResolvers<unknown>();
let begun = Promise.withResolvers<void>();

const execute = (_args: unknown, context: Context) => stream(context);
const retry = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };
const tools = [
  tool({ name: 'watch', description: 'd', retry, execute }),
  tool({ name: 'watch_shortly', description: 'd', retry: { maximumAttempts: 1 }, timeout: '300ms', execute }),
  tool({ name: 'watch_some', description: 'd', retry, maxChunks: 20, execute }),
  tool({ name: 'watch_endlessly', description: 'd', retry, maxChunks: Number.MAX_SAFE_INTEGER, execute }),
  tool({ name: 'watch_secretly', description: 'd', retry, sensitive: true, execute }),
  tool({
    name: 'digs',
    description: 'd',
    execute: async (_args, context) => {
      context.task.onCancel(() => told.push('handler'));
      begun.resolve();
      return await beating(context, stopped.promise);
    },
    cancel: (callId) => {
      told.push(`cancel ${callId.startsWith('adk-')}`);
      stopped.resolve({ dug: 3 });
      return true;
    },
  }),
  tool({
    name: 'listens',
    description: 'd',
    execute: (_args, context) => {
      context.task.onCancel(() => told.push('handler'));
      context.task.onCancel(() => {
        throw new Error('a handler that throws');
      });
      begun.resolve();
      const aborted = new Promise((_resolve, reject) => {
        context.abortSignal.addEventListener('abort', () => reject(new Error('aborted')));
      });
      return beating(context, aborted);
    },
  }),
];

const warnings: string[] = [];
let environment: TurnEnvironment;
let served: ServedGateway;
let remote: GatewayClient;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools })],
    logger: { warn: (message) => warnings.push(message) },
  });
  const gateway = createGateway({
    client: environment.client,
    about: () => ABOUT,
    ready: async () => ({ temporal: true, store: true }),
    access: localAccess({ token: TOKEN }),
    logger: collecting([]),
  });
  served = await serveGateway({ gateway });
  remote = new GatewayClient({ url: served.url, token: TOKEN });
});
beforeEach(() => {
  told = [];
  stopped = Promise.withResolvers();
  begun = Promise.withResolvers();
});
afterAll(async () => {
  await served.close();
  await environment.close();
});

const newNames = () => ({ app: 'test', userId: 'ada', sessionId: randomUUID() });

function responsesIn(items: readonly StreamItem[]): unknown[] {
  return items
    .flatMap((item) => (item.type === 'event' ? getFunctionResponses(item.event) : []))
    .map(({ response }) => response);
}

function chunksOf(items: readonly StreamItem[], attempt: number): Chunk[] {
  return items.filter((item): item is Chunk => item.type === 'tool chunk' && item.attempt === attempt);
}

/** One turn with one call, as those see it who follow it here and through the gateway; its tool waits until both do. */
async function followed(name: string, yields: (context: Context) => AsyncGenerator<unknown, unknown>) {
  environment.gemini.reset(stepCalls([[{ name }]]));
  const heard = Promise.withResolvers<void>();
  stream = async function* (context) {
    await heard.promise;
    return yield* yields(context);
  };
  const names = newNames();
  const stop = new AbortController();
  const all: [StreamItem[], StreamItem[]] = [[], []];
  const following = [environment.client, remote].map(async (client, index) => {
    for await (const item of client.stream(names, { signal: stop.signal })) {
      all[index]?.push(item);
      if (all.every((items) => items.some(({ type }) => type === 'call started'))) heard.resolve();
    }
  });
  const turn = await environment.client.sendMessage({ ...names, message: 'go' });
  const result = await turn.result();
  const last = result.events.to;
  await expect
    .poll(() => all.map((items) => items.some((item) => item.type === 'event' && item.seq === last)))
    .toEqual([true, true]);
  stop.abort();
  await Promise.all(following);
  return { items: all, result };
}

const typesOf = (items: readonly StreamItem[]) =>
  items.map((item) => (item.type === 'event' ? item.kind : item.type));

describe('a streaming tool', () => {
  test('tells followers its chunks, here and through the gateway; the model gets the result [tool.streaming]', async () => {
    const { items, result } = await followed('watch', async function* () {
      yield 'one ';
      yield 'two';
      yield { content: { done: 1 }, streaming: true, metadata: { of: 2 } };
      yield { content: 'a hitch', streaming: true, error: 'slow' };
      yield { content: { all: 'of it' }, streaming: false };
    });
    expect(result.status).toBe('completed');
    for (const each of items) {
      expect(responsesIn(each)).toEqual([{ all: 'of it' }]);
      const chunks = chunksOf(each, 1);
      expect(chunks.map(({ index }) => index)).toEqual(chunks.map((_, index) => index));
      const texts = chunks.filter(({ content, error }) => typeof content === 'string' && error === undefined);
      expect(texts.map(({ content }) => content).join('')).toBe('one two');
      expect(chunks.slice(texts.length)).toMatchObject([
        { content: { done: 1 }, metadata: { of: 2 } },
        { content: 'a hitch', error: 'slow' },
      ]);
      const types = typesOf(each);
      expect([...new Set(types)]).toEqual([
        ...['message', 'model', 'call started', 'tool chunk', 'call finished', 'responses'],
      ]);
    }
  });

  test('has the chunks of an attempt that failed dropped [tool.streaming.dropped]', async () => {
    const { items } = await followed('watch', async function* ({ attempt }) {
      yield `${attempt}a`;
      if (attempt === 1) throw new Error('cut off');
      yield `${attempt}b`;
    });
    for (const each of items) {
      expect(responsesIn(each)).toEqual([{ result: '2a2b' }]);
      const [first, second] = [1, 2].map((attempt) =>
        chunksOf(each, attempt)
          .map(({ content }) => content)
          .join(''),
      );
      expect([first, second]).toEqual(['1a', '2a2b']);
      const types = typesOf(each);
      const dropped = types.indexOf('tool chunks dropped');
      expect(types.lastIndexOf('tool chunks dropped')).toBe(dropped);
      expect(each[dropped]).toMatchObject({ attempt: 2 });
      expect(each.findIndex((item) => item.type === 'tool chunk' && item.attempt === 2)).toBeGreaterThan(
        dropped,
      );
    }
  });

  test('that streams for ever is ended, by its chunks or its time, and the turn goes on [tool.streaming] [tool.timeout]', async () => {
    const endless = await followed('watch_some', async function* () {
      for (;;) yield 'more ';
    });
    for (const each of endless.items) {
      expect(responsesIn(each)).toEqual([{ error: expect.stringContaining('more than 20 chunks') }]);
      expect(typesOf(each)).toContain('tool chunks dropped');
    }
    expect(endless.result.status).toBe('completed');
    const silent = await followed('watch_shortly', async function* () {
      yield 'begun';
      yield await never();
    });
    expect(responsesIn(silent.items[0])).toEqual([
      { error: expect.stringContaining('no result within 300 ms') },
    ]);
    expect(silent.result.status).toBe('completed');
  });

  test('that is sensitive tells nothing of it [tool.streaming] [tool.sensitive]', async () => {
    const { items } = await followed('watch_secretly', async function* () {
      yield 'the pin is ';
      yield '4711';
    });
    for (const each of items) {
      expect(typesOf(each)).not.toContain('tool chunk');
      expect(responsesIn(each)).toEqual([{ result: 'the pin is 4711' }]);
    }
  });
});

describe('a cancellable tool', () => {
  async function cancelled(name: string) {
    environment.gemini.reset(stepCalls([[{ name }]]));
    const names = newNames();
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    await begun.promise;
    const callKey = `${turn.invocationId}.1.0`;
    await environment.client.cancelCall(names, { callKey, reason: 'enough', timeout: 60_000 });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    const events = await environment.store.sessions.readEvents(names);
    return events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);
  }

  test('ends by its own cancel, and what it has by then counts [tool.cancellable]', async () => {
    expect(await cancelled('digs')).toEqual([{ dug: 3 }]);
    expect(told).toEqual(['handler', 'cancel true']);
  });

  test('that streams ends by what it yields by then [tool.cancellable] [tool.streaming]', async () => {
    let closed = false;
    stream = async function* (context) {
      try {
        context.task.onCancel(() => stopped.resolve('told'));
        yield 'one ';
        begun.resolve();
        yield `and ${await beating(context, stopped.promise)}`;
      } finally {
        closed = true;
      }
    };
    expect(await cancelled('watch')).toEqual([{ result: 'one and told' }]);
    expect(closed).toBe(true);
  });

  test('that streams and was told nothing is left at once [tool.cancellable] [tool.streaming]', async () => {
    let closed = false;
    stream = async function* (context) {
      try {
        begun.resolve();
        for (;;) yield await beating(context, new Promise((resolve) => setImmediate(resolve)));
      } finally {
        closed = true;
      }
    };
    expect(await cancelled('watch_endlessly')).toEqual([{ error: 'cancelled: enough' }]);
    await expect.poll(() => closed).toBe(true);
  });

  test('that has nothing to say is answered as cancelled; a handler that throws is logged [tool.cancellable]', async () => {
    warnings.length = 0;
    expect(await cancelled('listens')).toEqual([{ error: 'cancelled: enough' }]);
    expect(told).toEqual(['handler']);
    expect(warnings.join('\n')).toContain('cancelling tool listens failed: a handler that throws');
  });

  test('is not cancelled by a worker that goes away: it runs again [tool.cancellable]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'digs' }]]));
    const names = newNames();
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    await begun.promise;
    begun = Promise.withResolvers();
    await environment.restartWorker();
    await begun.promise;
    expect(told).toEqual([]);
    stopped.resolve({ dug: 'all' });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    const events = await environment.store.sessions.readEvents(names);
    expect(events.flatMap(({ event }) => getFunctionResponses(event))).toMatchObject([
      { response: { dug: 'all' } },
    ]);
  });
});
