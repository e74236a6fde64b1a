import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ToolChunk } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { Media, mediaOf } from '../../src/tools/media.ts';
import type { ToolError } from '../../src/tools/tool-error.ts';
import type { ToolOptions } from '../../src/tools/tool-types.ts';
import { refusal } from './refusal.ts';
import { contextWith } from './tool-context.ts';

type Options = Partial<ToolOptions<undefined>>;

/** Runs a tool that yields these, and tells what it came to. */
async function streamed(chunks: readonly unknown[], options: Options = {}) {
  const told: ToolChunk[] = [];
  const of = tool({
    name: 'watch',
    description: '',
    execute: async function* () {
      yield* chunks;
    },
    ...options,
  });
  const onChunk = (chunk: ToolChunk) => void told.push(chunk);
  const result = await of.runAsync({ args: {}, toolContext: contextWith(), onChunk });
  return { result, told };
}

async function failure(chunks: readonly unknown[], options: Options = {}): Promise<ToolError> {
  return await streamed(chunks, options).then(
    () => {
      throw new Error('did not fail');
    },
    (error) => error,
  );
}

const chunk = (content: unknown, more: Partial<ToolChunk> = {}) => ({ content, streaming: true, ...more });
const final = (content: unknown, more: Partial<ToolChunk> = {}) => ({ content, streaming: false, ...more });

describe('the result of a stream [tool.streaming]', () => {
  test.each<[string, unknown[], unknown]>([
    ['the chunk that says so', [chunk('a'), final({ lines: 1 })], { lines: 1 }],
    ['and nothing after it', [final('one'), final('two')], 'one'],
    ['texts as one', [chunk('a'), chunk('b'), chunk('')], 'ab'],
    ['plain texts, too', ['a', chunk('b'), 'c'], 'abc'],
    ['an empty text', [''], ''],
    ['of anything else the last', [{ done: 1 }, { done: 2 }], { done: 2 }],
    ['of a mixture the last', ['a', { done: 1 }, 'b'], 'b'],
    ['of chunks without content none', [chunk(undefined, { metadata: { pct: 5 } })], undefined],
    ['none of nothing', [], undefined],
    ['null', [chunk('a'), final(null)], null],
    ['an object with a field `streaming` of its own', [{ streaming: false, url: 'x' }, 7], 7],
  ])('%s', async (_, chunks, expected) => {
    expect((await streamed(chunks)).result).toEqual(expected);
  });

  test('what a generator returns, as the last chunk', async () => {
    const execute = async function* () {
      yield 'a';
      return { lines: 1 };
    };
    expect(await streamed([], { execute })).toEqual({
      result: { lines: 1 },
      told: [chunk('a'), final({ lines: 1 })],
    });
  });

  test('generators that never wait are streams, too', async () => {
    const execute = function* () {
      yield 'a';
      yield 'b';
    };
    expect((await streamed([], { execute })).result).toBe('ab');
  });

  test('texts come out as they went in, however they are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string()), fc.array(fc.boolean()), async (texts, asChunks) => {
        const chunks = texts.map((text, index) => (asChunks[index] ? chunk(text) : text));
        const { result, told } = await streamed(chunks);
        expect(result ?? '').toBe(texts.join(''));
        expect(told.map(({ content }) => content)).toEqual(texts);
      }),
      { numRuns: 50 },
    );
  });

  test('is checked by the output schema', async () => {
    const lines = tool({
      name: 'lines',
      description: '',
      outputSchema: z.object({ lines: z.number() }),
      execute: async function* () {
        yield 'one';
        yield { content: { lines: 'two' }, streaming: false };
      },
    });
    await expect(lines.runAsync({ args: {}, toolContext: contextWith() })).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_RESULT',
      message: expect.stringContaining("the result doesn't match outputSchema: lines: expected number"),
    });
  });

  test('may be media, which no schema checks', async () => {
    const image = new Media({ mimeType: 'image/png', data: new Uint8Array([1]) });
    const { result } = await streamed(['drawing', image], { outputSchema: z.string() as never });
    expect(mediaOf(result)?.response).toEqual({ media: [{ mimeType: 'image/png', bytes: 1 }] });
  });
});

describe('chunks [tool.streaming]', () => {
  test('are told as they come, with what they carry', async () => {
    const chunks = [
      chunk('a', { metadata: { pct: 50 } }),
      chunk('b', { error: 'one line was lost' }),
      { n: 1 },
      final('all'),
    ];
    const { result, told } = await streamed(chunks);
    expect(told).toEqual([chunks[0], chunks[1], chunk({ n: 1 }), chunks[3]]);
    expect(result).toBe('all');
  });

  test('are told before the next one is made', async () => {
    const log: string[] = [];
    const execute = async function* () {
      for (const text of ['a', 'b']) {
        log.push(`makes ${text}`);
        yield text;
      }
    };
    const onChunk = ({ content }: ToolChunk) => void log.push(`told ${content}`);
    const of = tool({ name: 't', description: '', execute });
    await of.runAsync({ args: {}, toolContext: contextWith(), onChunk });
    expect(log).toEqual(['makes a', 'told a', 'makes b', 'told b']);
  });

  test('are copies', async () => {
    const execute = async function* () {
      const growing = { lines: ['a'] };
      yield growing;
      growing.lines.push('b');
      yield growing;
    };
    expect((await streamed([], { execute })).told.map(({ content }) => content)).toEqual([
      { lines: ['a'] },
      { lines: ['a', 'b'] },
    ]);
  });

  test('are copies of data, too', async () => {
    const execute = async function* () {
      const buffer = Buffer.from('abc');
      yield buffer;
      buffer.fill(0);
    };
    expect(mediaOf((await streamed([], { execute })).result)?.parts).toMatchObject([
      { inlineData: { mimeType: 'text/plain', data: 'YWJj' } },
    ]);
    const growing = async function* () {
      const data = Buffer.from('abc');
      yield [new Media({ mimeType: 'image/png', data, name: 'a.png' })];
      data.fill(0);
    };
    const { result } = await streamed([], { execute: growing });
    expect(mediaOf(result)).toMatchObject({
      response: { media: [{ name: 'a.png' }] },
      parts: [{ inlineData: { data: 'YWJj' } }],
    });
  });

  test('whoever listens ends the run, by an error that stays what it is', async () => {
    let closed = false;
    const of = tool({
      name: 't',
      description: '',
      execute: async function* () {
        try {
          yield 'a';
          yield 'b';
        } finally {
          closed = true;
        }
      },
    });
    const gone = new Error('nobody listens any more');
    const onChunk = () => {
      throw gone;
    };
    await expect(of.runAsync({ args: {}, toolContext: contextWith(), onChunk })).rejects.toBe(gone);
    await expect.poll(() => closed).toBe(true);
  });
});

describe('failures [tool.streaming]', () => {
  test('an error in the last chunk is the tool’s', async () => {
    expect(await failure([chunk('a'), final(undefined, { error: 'exit code 2' })])).toMatchObject({
      message: "Error in tool 'watch': exit code 2",
      code: 'HOLDFAST_TOOL_FAILED',
      retryable: true,
    });
  });

  test('so is what the generator throws', async () => {
    const execute = async function* () {
      yield 'a';
      throw new Error('no route to host');
    };
    expect((await failure([], { execute })).message).toBe("Error in tool 'watch': no route to host");
  });

  test('what it throws while it closes counts', async () => {
    const execute = async function* () {
      try {
        yield final('all');
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: that is the case
        throw new Error('could not flush');
      }
    };
    expect((await failure([], { execute })).message).toBe("Error in tool 'watch': could not flush");
  });

  test.each<[string, unknown[], string]>([
    ['a closure', [() => 1], "chunk 0: the result can't be sent as JSON: JSON has no function"],
    ['a bigint in the content', ['a', chunk({ n: 1n })], "chunk 1: the result can't be sent as JSON at n"],
    [
      'metadata that is none',
      [chunk('a', { metadata: 5 as never })],
      'chunk 0: metadata: expected an object',
    ],
    [
      'an error that is none',
      [chunk('a', { error: {} as never })],
      'chunk 0: error: expected a string, got object',
    ],
    ['bytes in pieces', [new Uint8Array([1]), new Uint8Array([2])], 'bytes are streamed in pieces; put them'],
  ])('%s ends the attempts', async (_, chunks, message) => {
    expect(await failure(chunks)).toMatchObject({
      message: expect.stringContaining(message),
      code: 'HOLDFAST_INVALID_RESULT',
      retryable: false,
    });
  });
});

describe('a stream without end [tool.streaming.bounded]', () => {
  const endless = (onClose: () => void) =>
    async function* () {
      try {
        for (;;) yield 'x';
      } finally {
        onClose();
      }
    };

  test('is cut at maxChunks, and told to end', async () => {
    let closed = 0;
    const execute = endless(() => {
      closed++;
    });
    expect(await failure([], { execute, maxChunks: 100 })).toMatchObject({
      message:
        "Error in tool 'watch': yielded more than 100 chunks without a result; maxChunks of the tool allows no more",
      code: 'HOLDFAST_TOO_MANY_CHUNKS',
      retryable: false,
    });
    await expect.poll(() => closed).toBe(1);
    const { result } = await streamed(Array(100).fill('x'), { maxChunks: 100 });
    expect(result).toBe('x'.repeat(100));
    expect((await streamed(['x', final('y')], { maxChunks: 1 })).result).toBe('y');
  });

  test('has no more text for a result than models read; of a last chunk it may have more before', async () => {
    const much = Array(12).fill('x'.repeat(1024 * 1024));
    expect(await failure(much)).toMatchObject({
      message: expect.stringContaining(
        'the texts have 12582912 characters, at most 10485760 can be a result',
      ),
      code: 'HOLDFAST_INVALID_RESULT',
      retryable: false,
    });
    expect((await streamed([...much, final('12 MiB are in out.log')])).result).toBe('12 MiB are in out.log');
    expect((await streamed([...much, { lines: 12 }])).result).toEqual({ lines: 12 });
  });

  test('lets timers come, and ends when its context is aborted', async () => {
    let closed = 0;
    const execute = endless(() => {
      closed++;
    });
    const of = tool({ name: 't', description: '', execute, maxChunks: Number.MAX_SAFE_INTEGER });
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('cancelled')), 1);
    const toolContext = contextWith({ abortSignal: controller.signal });
    await expect(of.runAsync({ args: {}, toolContext })).rejects.toThrow('cancelled');
    await expect.poll(() => closed).toBe(1);
  });

  test('one that waits for ever is left when its context is aborted', async () => {
    const execute = async function* () {
      yield 'a';
      await new Promise(() => undefined);
    };
    const controller = new AbortController();
    const of = tool({ name: 't', description: '', execute });
    const run = of.runAsync({
      args: {},
      toolContext: contextWith({ abortSignal: controller.signal }),
      onChunk: () => controller.abort(new Error('cancelled')),
    });
    await expect(run).rejects.toThrow('cancelled');
  });
});

describe('cancel [tool.cancellable]', () => {
  const make = (options: Options) => tool({ name: 't', description: '', execute: () => 1, ...options });

  test('is the option’s, by the call’s id', async () => {
    const running = new Set(['c1']);
    const of = make({ cancel: async (callId) => running.delete(callId) });
    expect(of.supportsCancellation()).toBe(true);
    expect([await of.cancel('c1'), await of.cancel('c1')]).toEqual([true, false]);
  });

  test('without it a tool says so', async () => {
    expect([make({}).supportsCancellation(), await make({}).cancel('c1')]).toEqual([false, false]);
  });

  test('bad options', () => {
    expect(refusal(() => make({ cancel: true as never })).message).toBe(
      `FunctionTool "t": cancel: expected a function of the call's id, got boolean`,
    );
    expect(refusal(() => make({ maxChunks: 0 })).message).toContain(
      'maxChunks: expected a whole number, 1 or more',
    );
  });
});
