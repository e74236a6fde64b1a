import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FollowerTooSlow } from '../../src/client/client-errors.ts';
import type { FollowOptions } from '../../src/client/stream/follow-events.ts';
import { type ServerSentEvent, serverSentEvents } from '../../src/client/stream/gateway-stream.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { frameText } from '../../src/gateway/turns/event-stream.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { StoreFailed } from '../../src/store/store-errors.ts';
import { inTier } from '../setup/tier.ts';
import { codeOf, stubGateway, stubTurn } from './gateway-stub.ts';

const EVENTS = '/v1/apps/shop/users/ada/sessions/s1/events';
const TURN = '/v1/apps/shop/users/ada/sessions/s1/turns/m1/events';
const sse = { accept: 'text/event-stream' };

const stored = (seq: number): StoredEvent => ({
  seq,
  kind: 'model',
  runKey: 'e-1',
  step: 1,
  event: { id: String(seq), invocationId: 'e-1', timestamp: 1, actions: {} } as StoredEvent['event'],
});
const result: TurnResult = {
  v: 1,
  invocationId: 'e-1',
  status: 'completed',
  text: 'hi',
  usage: { modelCalls: 1, promptTokens: 1, outputTokens: 1, totalTokens: 2 },
  events: { from: 1, to: 2 },
};
const live: StreamItem[] = [
  { type: 'text', runKey: 'e-1', step: 1, agent: 'a', attempt: 1, index: 0, text: 'h\ni\u2028' },
  { type: 'text dropped', runKey: 'e-1', step: 1, attempt: 2 },
  { type: 'call started', runKey: 'e-1', callKey: 'e-1.1.0', tool: 'look', attempt: 1 },
  {
    ...{ type: 'tool chunk', runKey: 'e-1', callKey: 'e-1.1.0', tool: 'look', attempt: 1, index: 0 },
    content: { seen: ['a\nb'] },
  },
  { type: 'tool chunks dropped', runKey: 'e-1', callKey: 'e-1.1.0', attempt: 2 },
  { type: 'call finished', runKey: 'e-1', callKey: 'e-1.1.0', tool: 'look', failed: false },
];

async function* listed<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items;
}

/** Ends with its signal only. */
async function* silent(options?: FollowOptions): AsyncGenerator<never, void, undefined> {
  await new Promise<void>((resolve) => options?.signal?.addEventListener('abort', () => resolve()));
}

async function framesOf(answer: Response): Promise<ServerSentEvent[]> {
  const frames: ServerSentEvent[] = [];
  for await (const frame of serverSentEvents(answer.body as AsyncIterable<Uint8Array>)) frames.push(frame);
  return frames;
}

describe('a stream of a session', () => {
  test('has events with their seq as id, and the rest without one [gateway.events] [tool.streaming]', async () => {
    const items: StreamItem[] = [{ type: 'event', ...stored(7) }, ...live];
    const { send } = stubGateway({ stream: () => listed(items) });
    const answer = await send(EVENTS, { headers: sse });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    });
    const text = await answer.text();
    expect(text.startsWith('retry: 1000\n\n')).toBe(true);
    expect(text.match(/^id: .*$/gm)).toEqual(['id: 7']);
    const frames = await framesOf(new Response(text));
    expect(frames.map(({ event }) => event)).toEqual([
      ...['event', 'text', 'text-dropped', 'call', 'tool-chunk', 'tool-chunks-dropped', 'call'],
    ]);
    expect(frames.map(({ data }) => JSON.parse(data))).toEqual([stored(7), ...live]);
  });

  test.each([
    ['', {}, 0],
    ['?after=4', {}, 4],
    ['', { 'last-event-id': '9' }, 9],
    ['?after=4', { 'last-event-id': '9' }, 9],
    ['?after=4', { 'last-event-id': '' }, 4],
  ])('with %s and %j begins after %s [gateway.events]', async (query, headers, after) => {
    const begun: unknown[] = [];
    const { send } = stubGateway({
      stream: (_names, options) => {
        begun.push(options?.after);
        return listed([]);
      },
    });
    await (await send(EVENTS + query, { headers: { ...sse, ...headers } })).text();
    expect(begun).toEqual([after]);
  });

  test('refuses an id that none of its events has', async () => {
    const { send } = stubGateway();
    const answer = await send(EVENTS, { headers: { ...sse, 'last-event-id': 'seven' } });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('last-event-id');
  });

  test('leaves out what is never stored where it is told to [gateway.events]', async () => {
    const { send } = stubGateway({ follow: () => listed([stored(1)]) });
    const frames = await framesOf(await send(`${EVENTS}?partial=false`, { headers: sse }));
    expect(frames.map(({ event }) => event)).toEqual(['event']);
  });

  test('says that it lives while there is nothing to say', async () => {
    const { send, gateway } = stubGateway({ stream: (_names, options) => silent(options) }, { keepAlive: 5 });
    const reader = (await send(EVENTS, { headers: sse })).body?.getReader();
    const pieces: string[] = [];
    for (let count = 0; count < 3; count++) {
      pieces.push(new TextDecoder().decode((await reader?.read())?.value));
    }
    expect(pieces).toEqual(['retry: 1000\n\n', ': keep-alive\n\n', ': keep-alive\n\n']);
    await reader?.cancel();
    expect(gateway.openStreams).toBe(0);
  });

  test('is made no faster than it is read: nothing waits for a slow reader [gateway.events]', async () => {
    let made = 0;
    async function* endless(): AsyncGenerator<StreamItem, void, undefined> {
      for (;;) yield { type: 'event', ...stored(++made) };
    }
    const { send } = stubGateway({ stream: endless });
    const reader = (await send(EVENTS, { headers: sse })).body?.getReader();
    for (let read = 0; read < 5; read++) await reader?.read();
    // The opening is one of the five.
    expect(made).toBe(4);
    await reader?.cancel();
  });

  test('that nobody reads any more ends its follower at once [gateway.events]', async () => {
    let follower: AbortSignal | undefined;
    const { send, gateway } = stubGateway({
      stream: (_names, options) => {
        follower = options?.signal;
        return silent(options);
      },
    });
    const reader = (await send(EVENTS, { headers: sse })).body?.getReader();
    await reader?.read();
    const reading = reader?.read();
    expect([gateway.openStreams, follower?.aborted]).toEqual([1, false]);
    await reader?.cancel();
    await reading;
    expect([gateway.openStreams, follower?.aborted]).toEqual([0, true]);
  });

  test('of a HEAD begins nothing', async () => {
    const { send, gateway } = stubGateway();
    const answer = await send(EVENTS, { method: 'HEAD', headers: sse });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(gateway.openStreams).toBe(0);
  });

  test('ends with a comment when the gateway closes, and so does a new one [gateway.events]', async () => {
    const { send, gateway } = stubGateway({ stream: (_names, options) => silent(options) });
    const open = (await send(EVENTS, { headers: sse })).text();
    await expect.poll(() => gateway.openStreams).toBe(1);
    gateway.endStreams();
    expect(await open).toBe('retry: 1000\n\n: the gateway closes\n\n');
    expect(await (await send(EVENTS, { headers: sse })).text()).toContain(': the gateway closes');
    expect(gateway.openStreams).toBe(0);
  });

  test.each([
    [new FollowerTooSlow(3), 'HOLDFAST_FOLLOWER_TOO_SLOW', false],
    [new StoreFailed('hunter2'), 'HOLDFAST_STORE_FAILED', true],
    [new RangeError('hunter2'), 'HOLDFAST_GATEWAY_ERROR', true],
  ])('that fails says so: %s [gateway.events]', async (error, code, isLogged) => {
    async function* failing(): AsyncGenerator<StreamItem, void, undefined> {
      yield { type: 'event', ...stored(3) };
      throw error;
    }
    const { send, lines } = stubGateway({ stream: failing });
    const frames = await framesOf(await send(EVENTS, { headers: sse }));
    expect(frames.map(({ event }) => event)).toEqual(['event', 'error']);
    expect(JSON.parse(frames[1]?.data ?? '')).toMatchObject({ code });
    expect(frames[1]?.data).not.toContain('hunter2');
    expect(lines.some(({ level }) => level === 'error')).toBe(isLogged);
  });
});

describe('a stream of a turn', () => {
  test('ends with the result [gateway.events]', async () => {
    const turn = stubTurn({
      stream: () => listed([{ type: 'event', ...stored(2) } as StreamItem]),
      result: async () => result,
    });
    const { send } = stubGateway({ turn: async () => turn });
    const frames = await framesOf(await send(TURN, { headers: sse }));
    expect(frames.map(({ event }) => event)).toEqual(['event', 'end']);
    expect(JSON.parse(frames[1]?.data ?? '')).toEqual({ result });
  });

  test('of nobody’s message is none [gateway.events]', async () => {
    const { send } = stubGateway({ turn: async () => undefined });
    const answer = await send(TURN, { headers: sse });
    expect([answer.status, await codeOf(answer)]).toEqual([404, 'HOLDFAST_GATEWAY_NO_SUCH_TURN']);
  });
});

describe('reading server-sent events', () => {
  const line = fc.string({ unit: fc.constantFrom('a', ' ', ':', 'ü', '💡', '"', '\\'), maxLength: 8 });

  test('gives what was written, however it is cut into pieces [gateway.events]', async () => {
    const frame = fc.record({ event: fc.constantFrom('event', 'text', 'end'), data: fc.jsonValue() });
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 5 }), cuts, async (frames, sizes) => {
        const text = `retry: 1000\n\n${frames.map((each) => `: comment\n\n${frameText(each)}`).join('')}`;
        const read: unknown[] = [];
        for await (const { event, data } of serverSentEvents(inPieces(text, sizes))) {
          read.push({ event, data: JSON.parse(data) });
        }
        expect(read).toEqual(
          frames.map(({ event, data }) => ({ event, data: JSON.parse(JSON.stringify(data)) })),
        );
      }),
      { numRuns: inTier(20, 200) },
    );
  });

  test('takes every form of line break and field [gateway.events]', async () => {
    const breaks = fc.array(fc.constantFrom('\n', '\r', '\r\n'), { minLength: 1, maxLength: 12 });
    const cuts = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 4 }),
        breaks,
        cuts,
        async (lines, ends, sizes) => {
          let count = 0;
          const end = () => ends[count++ % ends.length] ?? '\n';
          const block = [
            ...lines.map((each) => `data:${each.startsWith(' ') ? ' ' : ''}${each}`),
            'id: 4',
            'other',
            '',
          ];
          // An empty line's line feed after a return would be one break with it.
          const text = block.map((each) => (each === '' ? '\n\n' : each + end())).join('');
          const read: ServerSentEvent[] = [];
          for await (const event of serverSentEvents(inPieces(text, sizes))) read.push(event);
          expect(read).toEqual([{ event: 'message', data: lines.join('\n'), id: '4' }]);
        },
      ),
      { numRuns: inTier(20, 200) },
    );
  });

  test('leaves out an event that its stream does not finish [gateway.events]', async () => {
    const read: ServerSentEvent[] = [];
    for await (const event of serverSentEvents(inPieces('event: end\ndata: {}\n', [3]))) read.push(event);
    expect(read).toEqual([]);
  });
});

async function* inPieces(
  text: string,
  sizes: readonly number[],
): AsyncGenerator<Uint8Array, void, undefined> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0, count = 0; at < bytes.length; count++) {
    const size = sizes[count % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}
