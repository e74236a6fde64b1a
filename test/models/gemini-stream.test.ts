import type { Part } from '@google/genai';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { blocked, call, disconnect, error, reply, text, thought } from '../../src/testing/gemini-reply.ts';
import { startMockGemini } from '../../src/testing/mock-gemini.ts';
import { ask, failure, geminiAt, request } from './ask.ts';
import { sendEvents, sendJson, startRawServer } from './raw-server.ts';

function chunk(parts: unknown[], more: Record<string, unknown> = {}) {
  return { candidates: [{ content: { role: 'model', parts }, ...more }] };
}

function texts(responses: Array<{ content?: { parts?: Part[] } }>): unknown[] {
  return responses.map((response) => response.content?.parts);
}

test('streams thoughts and text apart, and ends with the whole [model.streaming]', async () => {
  await using gemini = await startMockGemini({
    script: [
      reply([thought('I wonder about it.'), text('Hello there my dear old friend.')], {
        wordsPerChunk: 2,
        usage: { promptTokenCount: 3, candidatesTokenCount: 8 },
      }),
    ],
  });

  const responses = await ask(geminiAt(gemini.url), request(), { stream: true });

  const partial = responses.slice(0, -1);
  expect(partial.every((response) => response.partial === true && !response.usageMetadata)).toBe(true);
  expect(partial.filter((response) => response.content?.parts?.[0]?.thought).length).toBeGreaterThan(1);
  expect(responses.at(-1)).toEqual({
    content: {
      role: 'model',
      parts: [{ text: 'I wonder about it.', thought: true }, { text: 'Hello there my dear old friend.' }],
    },
    finishReason: 'STOP',
    usageMetadata: expect.objectContaining({ promptTokenCount: 3, candidatesTokenCount: 8 }),
    modelVersion: expect.any(String),
  });
  expect(gemini.requests[0]?.path).toContain(':streamGenerateContent');
});

test('keeps signatures on their parts and calls in order [model.verbatim]', async () => {
  const parts = [
    { text: 'Let me ', thought: true },
    { text: 'see.', thought: true },
    { text: 'I', thoughtSignature: 'sig-text' },
    { text: ' will' },
    { text: '' },
    { text: ' look.' },
    { functionCall: { id: '1', name: 'a', args: { x: 1 } }, thoughtSignature: 'sig-call' },
    { functionCall: { id: '2', name: 'b', args: {} } },
    { somethingNew: true },
    { text: 'x', partMetadata: { k: 1 } },
    { text: 'y' },
    { text: '', thoughtSignature: 'sig-last' },
  ];
  await using server = await startRawServer((response) =>
    sendEvents(response, [...parts.map((part) => chunk([part])), chunk([], { finishReason: 'STOP' })]),
  );

  const responses = await ask(geminiAt(server.url), request(), { stream: true });

  expect(responses.at(-1)?.content?.parts).toEqual([
    { text: 'Let me see.', thought: true },
    { text: 'I', thoughtSignature: 'sig-text' },
    { text: ' will look.' },
    ...parts.slice(6),
  ]);
});

test('gives the same whole for any cut into chunks [model.streaming]', async () => {
  const part = fc.oneof(
    fc.record({ text: fc.string({ maxLength: 3 }) }),
    fc.record({ text: fc.string({ maxLength: 3 }), thought: fc.constant(true) }),
    fc.record({ text: fc.string({ maxLength: 3 }), thoughtSignature: fc.constant('s') }),
    fc.record({ functionCall: fc.record({ name: fc.constantFrom('a', 'b'), args: fc.constant({}) }) }),
  );
  let chunks: unknown[][] = [];
  await using server = await startRawServer((response) =>
    sendEvents(response, [...chunks.map((parts) => chunk(parts)), chunk([], { finishReason: 'STOP' })]),
  );
  const model = geminiAt(server.url);
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1 }), fc.array(fc.nat(10)), async (parts, cuts) => {
      chunks = [parts];
      const together = await ask(model, request(), { stream: true });
      chunks = cut(parts, cuts);
      const apart = await ask(model, request(), { stream: true });
      expect(apart.at(-1)).toEqual(together.at(-1));
    }),
    { numRuns: 40 },
  );
});

function cut<T>(items: T[], sizes: number[]): T[][] {
  const rest = [...items];
  const pieces = sizes.map((size) => rest.splice(0, size));
  return [...pieces, rest];
}

test('says why there is no answer [model.safety]', async () => {
  await using gemini = await startMockGemini({ script: [blocked('SAFETY')] });

  const responses = await ask(geminiAt(gemini.url), request(), { stream: true });

  expect(responses).toEqual([
    expect.objectContaining({ errorCode: 'SAFETY', errorMessage: expect.any(String) }),
  ]);
});

test('takes the first candidate only', async () => {
  await using server = await startRawServer((response) =>
    sendEvents(response, [
      { candidates: [{ index: 1, content: { role: 'model', parts: [{ text: 'B' }] } }] },
      {
        candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'A' }] }, finishReason: 'STOP' }],
      },
      { candidates: [{ index: 1, finishReason: 'MAX_TOKENS' }] },
    ]),
  );

  const responses = await ask(geminiAt(server.url), request(), { stream: true });

  expect(texts(responses)).toEqual([[{ text: 'A' }], [{ text: 'A' }]]);
  expect(responses.at(-1)?.finishReason).toBe('STOP');
});

test('continues a response that the provider interrupts', async () => {
  await using server = await startRawServer((response, { body }) =>
    body.continuationToken === undefined
      ? sendEvents(response, [
          chunk([{ text: 'one ' }], { finishReason: 'CONTINUATION', continuationToken: 't' }),
        ])
      : sendEvents(response, [chunk([{ text: 'two' }], { finishReason: 'STOP' })]),
  );

  const responses = await ask(geminiAt(server.url), request(), { stream: true });

  expect(responses.at(-1)).toMatchObject({
    content: { parts: [{ text: 'one two' }] },
    finishReason: 'STOP',
  });
});

test('a stream that breaks yields nothing final and is retryable [model.streaming]', async () => {
  await using gemini = await startMockGemini({
    script: [
      disconnect(text('one two three four five six seven eight nine ten'), { afterChunks: 2 }),
      disconnect(),
      error(503, 'Overloaded.', { after: text('one two') }),
    ],
  });
  const model = geminiAt(gemini.url);

  const broken = await failure(model, request(), { stream: true });
  const unanswered = await failure(model, request(), { stream: true });
  const refused = await failure(model, request(), { stream: true });

  expect(broken.error).toMatchObject({ kind: 'network', retryable: true, countsAsFailure: true });
  expect(broken.responses.length).toBeGreaterThan(0);
  expect(unanswered.error).toMatchObject({ kind: 'network', retryable: true });
  expect(refused.error).toMatchObject({ kind: 'unavailable', status: 503, retryable: true });
  expect(refused.error.message).toContain('Overloaded.');
  for (const { responses } of [broken, unanswered, refused]) {
    expect(responses.every((response) => response.partial)).toBe(true);
  }
});

test.each<[string, unknown[], string]>([
  ['no chunk', [], 'ended empty'],
  ['no finish reason', [chunk([{ text: 'a' }]), chunk([{ text: 'b' }])], 'after 2 chunks'],
])('a stream that ends with %s was cut', async (_, events, message) => {
  await using server = await startRawServer((response) => sendEvents(response, events));

  const { error: cutShort, responses } = await failure(geminiAt(server.url), request(), { stream: true });

  expect(cutShort).toMatchObject({ kind: 'network', retryable: true });
  expect(cutShort.message).toContain(message);
  expect(responses.every((response) => response.partial)).toBe(true);
});

test.each([
  ['half an event', 'data: {"candidates": [{"content"'],
  ['no JSON', 'data: <html>\n\n'],
])('a stream of %s is a failure of the connection', async (_, bytes) => {
  await using server = await startRawServer((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(bytes);
  });

  const { error: unreadable } = await failure(geminiAt(server.url), request(), { stream: true });

  expect(unreadable).toMatchObject({ kind: 'network', retryable: true });
});

test('a stream that is refused at once has its status', async () => {
  await using server = await startRawServer((response) =>
    sendJson(response, 429, [{ error: { code: 429, message: 'Slow down.', status: 'RESOURCE_EXHAUSTED' } }]),
  );

  const { error: limited } = await failure(geminiAt(server.url), request(), { stream: true });

  expect(limited).toMatchObject({ kind: 'rate_limited', status: 429 });
  expect(limited.message).toContain('(429 RESOURCE_EXHAUSTED): Slow down.');
});

test('a reader that stops early closes the connection', async () => {
  await using server = await startRawServer((response) =>
    sendEvents(response, [chunk([{ text: 'a' }])], false),
  );

  for await (const response of geminiAt(server.url).generateContentAsync(request(), true)) {
    expect(response.partial).toBe(true);
    break;
  }

  await server.hangUp;
});

test('an abort in the middle closes the connection [model.abort]', async () => {
  await using server = await startRawServer((response) =>
    sendEvents(response, [chunk([{ text: 'a' }])], false),
  );
  const controller = new AbortController();
  const stream = geminiAt(server.url).generateContentAsync(request(), true, controller.signal);

  await stream.next();
  const next = stream.next();
  controller.abort();

  await expect(next).rejects.toMatchObject({ code: 'HOLDFAST_MODEL_ABORTED', retryable: false });
  await server.hangUp;
});

test('calls come whole and verbatim', async () => {
  await using gemini = await startMockGemini({ script: [[text('Looking.'), call('search', { q: 'x' })]] });

  const responses = await ask(
    geminiAt(gemini.url),
    request({ config: { tools: [{ functionDeclarations: [{ name: 'search', description: 'Search' }] }] } }),
    { stream: true },
  );

  expect(responses.at(-1)?.content?.parts).toEqual([
    { text: 'Looking.' },
    { functionCall: expect.objectContaining({ name: 'search', args: { q: 'x' } }) },
  ]);
});
